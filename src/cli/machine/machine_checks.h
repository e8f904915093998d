// Checks which parts of Headroom work on this machine, and how to fix the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom::cli {

enum class CheckState {
  kOk,       ///< Works.
  kLimited,  ///< Works in part, or at a higher cost than necessary.
  kMissing,  ///< Does not work.
};

std::string_view Name(CheckState state);

struct MachineCheck {
  std::string name;  ///< "clock", "recording", ...
  CheckState state = CheckState::kOk;
  std::string finding = {};  ///< The state that was found.
  std::string matters = {};  ///< The consequence for Headroom, unless the state is kOk.
  std::string fix = {};      ///< The fix; empty if there is nothing to fix, or no known fix.
};

/// Default of --python.
inline constexpr const char* kUsualPython = "python3";

/// Runs all checks, the cheap ones first. Starts `python` to list its modules. Opens the libraries
/// of GPUs as recording would. Changes nothing.
///
/// @param folder  folder for recordings
std::vector<MachineCheck> CheckMachine(const std::string& python, const std::string& folder);

}  // namespace headroom::cli
