// Query calls of the CUDA runtime and driver that do no work. Frameworks make dozens of these calls
// around each launch, and the calls do not explain where time goes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "capture/cupti/cupti_api.h"

namespace headroom::cupti {

/// Callback ids, ascending. Names are those of CUDA 13.0.
inline constexpr std::uint32_t kNoisyRuntimeCalls[] = {
    10,   // cudaGetLastError
    11,   // cudaPeekAtLastError
    12,   // cudaGetErrorString
    15,   // cudaFuncGetAttributes
    16,   // cudaSetDevice
    17,   // cudaGetDevice
    132,  // cudaStreamQuery
    138,  // cudaEventQuery
    151,  // cudaPointerGetAttributes
    200,  // cudaDeviceGetAttribute
    209,  // cudaGetErrorName
    240,  // cudaStreamQuery_ptsz
    317,  // cudaStreamIsCapturing
    318,  // cudaStreamIsCapturing_ptsz
    324,  // cudaStreamGetCaptureInfo
    325,  // cudaStreamGetCaptureInfo_ptsz
    327,  // cudaThreadExchangeStreamCaptureMode
    409,  // cudaStreamGetCaptureInfo_v2
    410,  // cudaStreamGetCaptureInfo_v2_ptsz
    461,  // cudaStreamGetCaptureInfo_v3
    462,  // cudaStreamGetCaptureInfo_v3_ptsz
};

inline constexpr std::uint32_t kNoisyDriverCalls[] = {
    9,    // cuDeviceGetAttribute
    14,   // cuCtxPushCurrent
    15,   // cuCtxPopCurrent
    16,   // cuCtxGetDevice
    85,   // cuFuncGetAttribute
    120,  // cuEventQuery
    125,  // cuStreamQuery
    303,  // cuCtxSetCurrent
    304,  // cuCtxGetCurrent
    310,  // cuPointerGetAttribute
    323,  // cuCtxPushCurrent_v2
    324,  // cuCtxPopCurrent_v2
    392,  // cuDevicePrimaryCtxGetState
    439,  // cuStreamQuery_ptsz
    450,  // cuPointerGetAttributes
    483,  // cuStreamGetCtx
    484,  // cuStreamGetCtx_ptsz
    499,  // cuStreamIsCapturing
    500,  // cuStreamIsCapturing_ptsz
    536,  // cuStreamGetCaptureInfo
    537,  // cuStreamGetCaptureInfo_ptsz
    541,  // cuThreadExchangeStreamCaptureMode
    626,  // cuGetProcAddress
    629,  // cuStreamGetCaptureInfo_v2
    630,  // cuStreamGetCaptureInfo_v2_ptsz
    677,  // cuGetProcAddress_v2
    686,  // cuKernelGetAttribute
    718,  // cuFuncGetName
    719,  // cuKernelGetName
    729,  // cuStreamGetCaptureInfo_v3
    730,  // cuStreamGetCaptureInfo_v3_ptsz
};

static_assert(std::is_sorted(std::begin(kNoisyRuntimeCalls), std::end(kNoisyRuntimeCalls)));
static_assert(std::is_sorted(std::begin(kNoisyDriverCalls), std::end(kNoisyDriverCalls)));

inline bool IsNoisy(ActivityKind kind, std::uint32_t cbid) {
  return kind == kRuntime
             ? std::binary_search(std::begin(kNoisyRuntimeCalls), std::end(kNoisyRuntimeCalls),
                                  cbid)
             : std::binary_search(std::begin(kNoisyDriverCalls), std::end(kNoisyDriverCalls), cbid);
}

}  // namespace headroom::cupti
