// An MPI error ends the whole job with MPI's message (MPI_ERRORS_ARE_FATAL, the default), because
// no work is possible without the other processes.
#include "distributed/mpi_module.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

constexpr int kLeader = 0;
constexpr int kTag = 0;

/// Maximum bytes per message. MPI limits a message to INT_MAX elements.
constexpr std::uint64_t kMaxAtOnce = std::uint64_t{1} << 30;

/// Waits with pauses. MPI would use a full core, and the leader may wait for minutes while the
/// others read.
void Wait(MPI_Request request) {
  constexpr auto kPause = std::chrono::microseconds(200);
  int done = 0;
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), done == 0)
    std::this_thread::sleep_for(kPause);
}

/// Sends or receives in pieces without pauses, because the message has already begun.
template <typename Send>
void InPieces(std::uint64_t size, Send send) {
  for (std::uint64_t at = 0; at < size; at += kMaxAtOnce)
    send(at, static_cast<int>(std::min(kMaxAtOnce, size - at)));
}

int Process() {
  int process = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  return process;
}

}  // namespace

bool HeadroomMpiBegin(int* process, int* processes) {
#ifdef OPEN_MPI
  // The module supports only PMIx, which Open MPI's mpirun and srun --mpi=pmix provide. Under other
  // launchers, MPI would end the job with a long message.
  if (std::getenv("PMIX_RANK") == nullptr) return false;
#endif
  int provided = 0;
  // Only one thread communicates; reader threads do not.
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  *process = Process();
  MPI_Comm_size(MPI_COMM_WORLD, processes);
  return true;
}

void HeadroomMpiBroadcast(const char* bytes, std::uint64_t size,
                          char* (*grow)(void* into, std::uint64_t size), void* into) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&size, 1, MPI_UINT64_T, kLeader, MPI_COMM_WORLD, &request);
  Wait(request);
  // MPI only reads the leader's bytes.
  char* const place = Process() == kLeader ? const_cast<char*>(bytes) : grow(into, size);
  InPieces(size, [&](std::uint64_t at, int count) {
    MPI_Bcast(place + at, count, MPI_BYTE, kLeader, MPI_COMM_WORLD);
  });
}

void HeadroomMpiGather(const char* bytes, std::uint64_t size,
                       char* (*grow)(void* into, int process, std::uint64_t size), void* into) {
  if (Process() != kLeader) {
    // The send completes only when the leader receives, which may be much later.
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Issend(&size, 1, MPI_UINT64_T, kLeader, kTag, MPI_COMM_WORLD, &request);
    Wait(request);
    InPieces(size, [&](std::uint64_t at, int count) {
      MPI_Send(bytes + at, count, MPI_BYTE, kLeader, kTag, MPI_COMM_WORLD);
    });
    return;
  }
  int processes = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  for (int process = 1; process < processes; ++process) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&size, 1, MPI_UINT64_T, process, kTag, MPI_COMM_WORLD, &request);
    Wait(request);
    char* const place = grow(into, process, size);
    InPieces(size, [&](std::uint64_t at, int count) {
      MPI_Recv(place + at, count, MPI_BYTE, process, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });
  }
}

void HeadroomMpiEnd() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  Wait(request);  // MPI_Finalize() also waits, but uses a full core.
  MPI_Finalize();
}
