"""AUC losses, samplers and metrics for PyTorch. Install the extra: ``pip install 'auclid[torch]'``."""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "auclid.torch needs PyTorch, which is not installed: pip install 'auclid[torch]'.", name="torch"
    ) from None

from auclid.torch import metrics
from auclid.torch.last_layer import head
from auclid.torch.metrics import StreamingAUC
from auclid.torch.moment_loss import MomentLoss
from auclid.torch.pair_loss import PairLoss
from auclid.torch.sampler import BalancedSampler

__all__ = ["BalancedSampler", "MomentLoss", "PairLoss", "StreamingAUC", "head", "metrics"]
