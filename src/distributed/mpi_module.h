// The C interface between the program and libheadroom_mpi.so, the only part that links MPI. The
// program opens it only if a launcher started several processes, and otherwise requires no MPI.
#pragma once

#include <cstdint>

/// All other symbols of the module are hidden.
#define HEADROOM_MPI_EXPORT __attribute__((visibility("default")))

extern "C" {

/// Joins the processes that the launcher started. Call once, before the other functions. Returns
/// false and joins nothing if this MPI does not support the launcher's protocol.
HEADROOM_MPI_EXPORT bool HeadroomMpiBegin(int* process, int* processes);

/// Sends the bytes of process 0, the leader, to all processes. Ignores `bytes` and `size` on the
/// others. There, it calls `grow`, which allocates space for the bytes and returns its address.
HEADROOM_MPI_EXPORT void HeadroomMpiBroadcast(const char* bytes, std::uint64_t size,
                                              char* (*grow)(void* into, std::uint64_t size),
                                              void* into);

/// Gathers the bytes of all processes on process 0. For each of the processes 1, 2, ..., it calls
/// `grow` once with the number of the process.
HEADROOM_MPI_EXPORT void HeadroomMpiGather(const char* bytes, std::uint64_t size,
                                           char* (*grow)(void* into, int process,
                                                         std::uint64_t size),
                                           void* into);

/// Leaves the job after all processes have called it.
HEADROOM_MPI_EXPORT void HeadroomMpiEnd();

}  // extern "C"
