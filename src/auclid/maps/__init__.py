"""Feature maps psi with psi(x).psi(y) near a kernel k(x, y), and rankers on top of them."""

from auclid.maps.kernelized import Kernelized
from auclid.maps.kmeans_nystroem import KMeansNystroem
from auclid.maps.random_fourier import RandomFourier

__all__ = ["Kernelized", "KMeansNystroem", "RandomFourier"]
