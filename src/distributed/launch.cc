#include "distributed/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <utility>
#include <vector>

namespace headroom {
namespace {

/// Environment variables of one launcher.
struct Names {
  const char* process;    ///< Holds the number of this process, from 0.
  const char* processes;  ///< Holds the number of processes.
};

/// The innermost launcher comes first, e.g. an mpirun inside a step of srun: Open MPI's mpirun,
/// then PMI-1 and PMI-2 (srun --mpi=pmi2, Hydra), then Slurm. Slurm sets its variables of one step
/// for any MPI library. Its variables of a job (SLURM_NTASKS) do not work, because a batch script
/// has them too, although it runs once.
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

Environment EnvironmentOf(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/environ", process), std::ios::binary);
  std::vector<std::string> variables;
  for (std::string variable; std::getline(file, variable, '\0');)
    variables.push_back(std::move(variable));
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const std::string begin = fmt::format("{}=", name);
    for (const std::string& variable : variables) {
      if (variable.starts_with(begin)) return variable.substr(begin.size());
    }
    return std::nullopt;
  };
}

}  // namespace

std::optional<Launch> LaunchIn(const Environment& own, const Environment& parents) {
  for (const Names& names : kLaunchers) {
    const std::optional<int> process = NumberIn(own(names.process));
    const std::optional<int> processes = NumberIn(own(names.processes));
    if (!process || !processes || *process < 0) continue;
    // The innermost launcher decides, even if it started only one process.
    if (*processes < 2 || parents(names.process)) return std::nullopt;
    return Launch{.process = *process, .processes = *processes};
  }
  return std::nullopt;
}

std::optional<Launch> FindLaunch() {
  const Environment own = [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  return LaunchIn(own, EnvironmentOf(getppid()));
}

}  // namespace headroom
