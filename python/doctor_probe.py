"""Probes the Python that trains here, for `headroom doctor`; prints one JSON object.

Only imports installed packages. Initializes devices only to count them, and not at all with --no-gpus.
"""
import json
import platform
import sys

found: dict = {"python": platform.python_version(), "executable": sys.executable}
try:
    import torch

    found["torch"] = torch.__version__
    found["cuda"] = torch.version.cuda
    found["hip"] = getattr(torch.version, "hip", None)
    found["kineto"] = bool(torch.autograd.kineto_available())
    if "--no-gpus" not in sys.argv:
        found["gpus"] = torch.cuda.device_count() if torch.cuda.is_available() else 0
except Exception as error:  # Reports a broken installation too.
    found["torch_error"] = f"{type(error).__name__}: {error}"
try:
    import headroom

    found["headroom"] = headroom.__file__
except Exception as error:
    found["headroom_error"] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
