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

/// What the module offers, found by name.
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
  /// After an exception the others wait for what will not come: a process that leaves without a
  /// word makes the launcher end them.
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

/// The module stays open: MPI does not survive being unloaded.
Result<Functions> Open(const std::string& module, const Launch& launch) {
  // Open MPI's own plug-ins look for its symbols among those that all see.
  void* const library = module.empty() ? nullptr : dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const std::string cannot = fmt::format("process {} of {}, on {}, does not find the others",
                                           launch.process, launch.processes, HostName());
    if (module.empty()) {
      return Status::Usage(fmt::format(
          "{}: libheadroom_mpi.so is neither beside the program nor in ../lib/headroom; install it "
          "with the program, built with Open MPI (Debian: libopenmpi-dev)",
          cannot));
    }
    return Status::Usage(
        fmt::format("{}: {}; install the MPI that the program was built with there "
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
  return Status::Usage(
      fmt::format("{}: not of this version of headroom; install both anew", module));
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
  // Each knows as much; one says it.
  if (launch->process > 0) return Status::Usage("");
  return Status::Usage(fmt::format(
      "the launcher started {} processes, of which MPI knows {}: start them by the mpirun "
      "of the same MPI, or by srun --mpi=pmix (srun --mpi=list shows what Slurm can do)",
      launch->processes, communicator->processes()));
}

}  // namespace headroom
