"""Feature maps psi with psi(x).psi(y) near a kernel k(x, y), and rankers on top of them."""

from auclid.kernels.kernelized import Kernelized
from auclid.kernels.kmeans_nystroem import KMeansNystroem
from auclid.kernels.random_fourier import RandomFourier

__all__ = ["Kernelized", "KMeansNystroem", "RandomFourier"]
