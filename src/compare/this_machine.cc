#include "compare/this_machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/read_file.h"
#include "base/text.h"

namespace headroom {
namespace {

constexpr std::array kVariables = {"CUDA_LAUNCH_BLOCKING",
                                   "CUDA_MODULE_LOADING",
                                   "CUDA_DEVICE_MAX_CONNECTIONS",
                                   "NVIDIA_TF32_OVERRIDE",
                                   "CUBLAS_WORKSPACE_CONFIG",
                                   "PYTORCH_CUDA_ALLOC_CONF",
                                   "PYTORCH_ALLOC_CONF",
                                   "TORCH_CUDNN_V8_API_DISABLED",
                                   "OMP_NUM_THREADS",
                                   "MKL_NUM_THREADS",
                                   "OMP_PROC_BIND",
                                   "NCCL_ALGO",
                                   "NCCL_PROTO",
                                   "NCCL_P2P_DISABLE",
                                   "NCCL_IB_DISABLE",
                                   "NCCL_MIN_NCHANNELS",
                                   "NCCL_MAX_NCHANNELS",
                                   "TORCH_NCCL_BLOCKING_WAIT"};

std::string ContentOf(const std::string& path) {
  const Result<std::optional<std::string>> read = ReadFile(path);
  return read.ok() ? read.value().value_or("") : "";
}

std::string FirstLine(std::string_view text) {
  return std::string(TrimBlanks(text.substr(0, text.find('\n'))));
}

/// Returns the text after `key` and a colon; empty if there is no such line.
std::string ValueOf(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return "";
  const std::size_t colon = text.find(':', at);
  return colon == std::string_view::npos ? "" : FirstLine(text.substr(colon + 1));
}

}  // namespace

std::vector<ProfileFact> FactsOfThisMachine(const std::string& root) {
  std::vector<ProfileFact> facts;
  const auto add = [&](std::string name, std::string value) {
    if (!value.empty()) facts.push_back({std::move(name), std::move(value)});
  };
  add("here.cpu", ValueOf(ContentOf(root + "/proc/cpuinfo"), "model name"));
  add("here.cores", fmt::format("{}", sysconf(_SC_NPROCESSORS_ONLN)));
  add("here.governor",
      FirstLine(ContentOf(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")));
  add("here.kernel", FirstLine(ContentOf(root + "/proc/sys/kernel/osrelease")));
  // Parses "NVRM version: NVIDIA UNIX x86_64 Kernel Module 580.95.05 ...".
  const std::string driver = FirstLine(ContentOf(root + "/proc/driver/nvidia/version"));
  if (const std::size_t module = driver.find("Module"); module != std::string::npos) {
    const std::string_view version = TrimBlanks(std::string_view(driver).substr(module + 6));
    add("here.nvidia_driver", std::string(version.substr(0, version.find(' '))));
  }
  for (const char* variable : kVariables) {
    const char* value = std::getenv(variable);
    add(fmt::format("env.{}", variable), value != nullptr ? value : "");
  }
  return facts;
}

}  // namespace headroom
