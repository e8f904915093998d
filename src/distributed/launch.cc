#include "distributed/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace headroom {
namespace {

/// Variables of one launcher: the number of this process, and of all.
struct Names {
  const char* process;
  const char* processes;
};

/// Open MPI's mpirun; PMI-1 and PMI-2 (srun --mpi=pmi2, Hydra); Slurm's own, which it sets whatever
/// the library, of one step: those of a job (SLURM_NTASKS) are there in a batch script, too, which
/// runs once.
constexpr std::array<Names, 3> kLaunchers = {{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                              {"PMI_RANK", "PMI_SIZE"},
                                              {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}}};

std::optional<int> NumberIn(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  int number = 0;
  const char* const end = text->data() + text->size();
  const auto [parsed, error] = std::from_chars(text->data(), end, number);
  return error == std::errc() && parsed == end ? std::optional(number) : std::nullopt;
}

/// 0: there is none, or it is not told.
pid_t ParentOf(pid_t process) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  std::string word;
  while (status >> word) {
    pid_t parent = 0;
    if (word == "PPid:") return status >> parent ? parent : 0;
  }
  return 0;
}

/// Launchers themselves use other libraries of Open MPI, not this one.
bool UsesMpi(pid_t process) {
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  for (std::string line; std::getline(maps, line);) {
    const std::string_view file = std::string_view(line).substr(line.rfind('/') + 1);
    if (file.starts_with("libmpi.so") || file.starts_with("libmpich.so")) return true;
  }
  return false;
}

bool StartedByMpiProgram() {
  for (pid_t process = getppid(); process > 1; process = ParentOf(process)) {
    if (UsesMpi(process)) return true;
  }
  return false;
}

}  // namespace

std::optional<Launch> LaunchIn(
    const std::function<std::optional<std::string>(const char*)>& variable) {
  for (const Names& names : kLaunchers) {
    const std::optional<int> process = NumberIn(variable(names.process));
    const std::optional<int> processes = NumberIn(variable(names.processes));
    if (!process || !processes || *processes < 2 || *process < 0) continue;
    return Launch{.process = *process, .processes = *processes};
  }
  return std::nullopt;
}

std::optional<Launch> FindLaunch() {
  std::optional<Launch> launch = LaunchIn([](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
  return launch && !StartedByMpiProgram() ? launch : std::nullopt;
}

}  // namespace headroom
