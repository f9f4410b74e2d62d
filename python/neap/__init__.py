# SPDX-License-Identifier: Apache-2.0
"""Neap plans the memory of neural networks.

::

    import neap

    plan = neap.plan("model.tflite", budget="256KiB")
    print(plan.arena_bytes, plan.optimal, plan.fits)
    plan.save("small.tflite")
"""

from neap._errors import (
    BadInputError,
    FileError,
    InternalError,
    MissingPackageError,
    MissingSizeError,
    NeapError,
    OverBudgetError,
    UsageError,
    WrongPlanError,
)
from neap._graphs import Fit, Peak, Placement, peak, place
from neap._neap import version as __version__
from neap._plan import PlacedTensor, Plan, TensorInfo, fits, plan, read_plan
from neap._progress import Progress
from neap._reports import Explanation, ParetoPoint, explain, pareto, zoo, zoo_names

__all__ = [
    "BadInputError",
    "Explanation",
    "FileError",
    "Fit",
    "InternalError",
    "MissingPackageError",
    "MissingSizeError",
    "NeapError",
    "OverBudgetError",
    "ParetoPoint",
    "Peak",
    "PlacedTensor",
    "Placement",
    "Plan",
    "Progress",
    "TensorInfo",
    "UsageError",
    "WrongPlanError",
    "__version__",
    "explain",
    "fits",
    "pareto",
    "peak",
    "place",
    "plan",
    "read_plan",
    "zoo",
    "zoo_names",
]
