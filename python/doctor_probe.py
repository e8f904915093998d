"""What `headroom doctor` asks the Python that trains here; prints one JSON object.

Imports what is installed and touches nothing: no device is initialized beyond what asking for their
number takes, and with --no-gpus not that.
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
except Exception as error:  # A broken installation is an answer, too.
    found["torch_error"] = f"{type(error).__name__}: {error}"
try:
    import headroom

    found["headroom"] = headroom.__file__
except Exception as error:
    found["headroom_error"] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
