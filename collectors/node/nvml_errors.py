"""What NVML's return codes mean for a reading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pynvml

from collectors.node.nvml_states import (
    DRIVER_MISMATCH,
    FAILED,
    LOST,
    NO_DRIVER,
    NOT_SUPPORTED,
    OK,
    UnavailableError,
)

STATES = {
    pynvml.NVML_ERROR_NOT_SUPPORTED: NOT_SUPPORTED,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: NOT_SUPPORTED,
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH: NOT_SUPPORTED,
    pynvml.NVML_ERROR_DEPRECATED: NOT_SUPPORTED,
    pynvml.NVML_ERROR_NO_DATA: NOT_SUPPORTED,
    pynvml.NVML_ERROR_GPU_IS_LOST: LOST,
    pynvml.NVML_ERROR_RESET_REQUIRED: LOST,
    pynvml.NVML_ERROR_GPU_NOT_FOUND: LOST,
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: NO_DRIVER,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: NO_DRIVER,
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: DRIVER_MISMATCH,
}
REASONS = {
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "libnvidia-ml.so.1 is not installed",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "the NVIDIA kernel driver is not loaded",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "driver and library have different versions: reboot after the update",
    pynvml.NVML_ERROR_GPU_IS_LOST: "the GPU has fallen off the bus",
    pynvml.NVML_ERROR_RESET_REQUIRED: "the GPU needs a reset",
    pynvml.NVML_ERROR_GPU_NOT_FOUND: "the GPU is no longer there",
}
WHOLE = frozenset(
    {
        pynvml.NVML_ERROR_UNINITIALIZED,
        pynvml.NVML_ERROR_LIBRARY_NOT_FOUND,
        pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
        pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
    }
)
"""After one of these NVML is started anew; after all others only the one call, or the one GPU, is without an answer."""


def unavailable(error: Any) -> UnavailableError:
    """State and reason of an NVMLError, and whether it concerns NVML as a whole."""
    code = int(error.value)
    reason = REASONS.get(code, f"NVML error {code}: {error}")
    return UnavailableError(STATES.get(code, FAILED), reason, whole=code in WHOLE)


def attempt(ask: Callable[[], Any]) -> tuple[Any, str]:
    """(answer, "ok"), or (None, why not) when only this call cannot be had; UnavailableError when nothing can."""
    try:
        return ask(), OK
    except pynvml.NVMLError as error:
        why = unavailable(error)
        if why.whole or why.state == LOST:
            raise why from error
        return None, why.state if why.state == NOT_SUPPORTED else why.reason
    except ValueError:  # a text that is no text, an address that is none
        return None, "the driver's answer makes no sense"
