// The C interface between the program and libheadroom_mpi.so, the only part that is linked with
// MPI: the program opens it where a launcher started several processes, and needs no MPI otherwise.
#pragma once

#include <cstdint>

/// All else in the module is hidden.
#define HEADROOM_MPI_EXPORT __attribute__((visibility("default")))

extern "C" {

/// Joins the processes that the launcher started. To be called once, first. False, and nothing is
/// joined, where the launcher does not speak the language that this MPI is told of others in.
HEADROOM_MPI_EXPORT bool HeadroomMpiBegin(int* process, int* processes);

/// The leader's bytes on all: process 0 passes its own, the others an empty place. `grow` makes
/// room for the bytes and returns where; it is called on all but the leader.
HEADROOM_MPI_EXPORT void HeadroomMpiBroadcast(const char* bytes, std::uint64_t size,
                                              char* (*grow)(void* into, std::uint64_t size),
                                              void* into);

/// All processes' bytes on process 0, which gets those of process 1, 2, ... by `grow`, called once
/// for each, with the process's number.
HEADROOM_MPI_EXPORT void HeadroomMpiGather(const char* bytes, std::uint64_t size,
                                           char* (*grow)(void* into, int process,
                                                         std::uint64_t size),
                                           void* into);

/// Leaves; waits until all have.
HEADROOM_MPI_EXPORT void HeadroomMpiEnd();

}  // extern "C"
