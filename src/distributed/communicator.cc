#include "distributed/communicator.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <exception>
#include <type_traits>
#include <utility>

#include "base/host_name.h"
#include "distributed/launch.h"
#include "distributed/mpi_module.h"

namespace headroom {
namespace {

/// Functions of the module, found by name.
struct Functions {
  decltype(&HeadroomMpiBegin) begin = nullptr;
  decltype(&HeadroomMpiBroadcast) broadcast = nullptr;
  decltype(&HeadroomMpiGather) gather = nullptr;
  decltype(&HeadroomMpiEnd) end = nullptr;
};

class MpiCommunicator : public Communicator {
 public:
  explicit MpiCommunicator(const Functions& functions)
      : functions_(functions), joined_(functions_.begin(&process_, &processes_)) {}
  /// After an exception, the other processes would wait for a message that never comes. A process
  /// that exits without MPI_Finalize() makes the launcher end them.
  ~MpiCommunicator() override {
    if (joined_ && std::uncaught_exceptions() == 0) functions_.end();
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int process() const override { return process_; }
  int processes() const override { return processes_; }

  std::string Broadcast(std::string text) override {
    std::string received;
    functions_.broadcast(
        text.data(), text.size(),
        [](void* into, std::uint64_t size) {
          auto& place = *static_cast<std::string*>(into);
          place.resize(size);
          return place.data();
        },
        &received);
    return leads() ? text : received;
  }

  std::vector<std::string> Gather(std::string text) override {
    std::vector<std::string> texts;
    if (leads()) texts.resize(static_cast<std::size_t>(processes_));
    functions_.gather(
        text.data(), text.size(),
        [](void* into, int process, std::uint64_t size) {
          auto& place =
              (*static_cast<std::vector<std::string>*>(into))[static_cast<std::size_t>(process)];
          place.resize(size);
          return place.data();
        },
        &texts);
    if (leads()) texts.front() = std::move(text);
    return texts;
  }

 private:
  Functions functions_;
  int process_ = 0;
  int processes_ = 1;
  bool joined_;
};

/// Leaves the module open, because MPI cannot be unloaded.
Result<Functions> Open(const std::string& module, const Launch& launch) {
  // Open MPI's plug-ins search for its symbols in the global scope.
  void* const library = module.empty() ? nullptr : dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const std::string cannot = fmt::format("process {} of {}, on {}, cannot reach the others",
                                           launch.process, launch.processes, HostName());
    if (module.empty()) {
      return Status::Usage(fmt::format(
          "{}: libheadroom_mpi.so is neither next to the program nor in ../lib/headroom; install "
          "it with the program, built with Open MPI (Debian: libopenmpi-dev)",
          cannot));
    }
    return Status::Usage(
        fmt::format("{}: {}; install on that machine the MPI with which the program was built "
                    "(Debian: libopenmpi3)",
                    cannot, dlerror()));
  }
  Functions functions;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  if (find(functions.begin, "HeadroomMpiBegin") &&
      find(functions.broadcast, "HeadroomMpiBroadcast") &&
      find(functions.gather, "HeadroomMpiGather") && find(functions.end, "HeadroomMpiEnd"))
    return functions;
  return Status::Usage(fmt::format(
      "{}: this module is from another version of headroom; reinstall the module and headroom",
      module));
}

}  // namespace

Result<std::unique_ptr<Communicator>> JoinProcesses(const std::string& module) {
  const std::optional<Launch> launch = FindLaunch();
  if (!launch) return std::unique_ptr<Communicator>(std::make_unique<OneProcess>());
  const Result<Functions> functions = Open(module, *launch);
  if (!functions.ok()) return functions.status();
  auto communicator = std::make_unique<MpiCommunicator>(functions.value());
  if (communicator->processes() == launch->processes)
    return std::unique_ptr<Communicator>(std::move(communicator));
  // All processes see this error, but only one reports it.
  if (launch->process > 0) return Status::Usage("");
  return Status::Usage(
      fmt::format("the launcher started {} processes, but MPI sees {}; use the mpirun of the same "
                  "MPI, or srun --mpi=pmix (srun --mpi=list shows the options)",
                  launch->processes, communicator->processes()));
}

}  // namespace headroom
