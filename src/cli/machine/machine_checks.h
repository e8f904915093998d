// What of Headroom works on this machine, and what to do about the rest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom::cli {

enum class CheckState {
  kOk,       ///< Works.
  kLimited,  ///< Works in part, or dearer than it could.
  kMissing,  ///< Does not work.
};

std::string_view Name(CheckState state);

struct MachineCheck {
  std::string name;  ///< "clock", "recording", ...
  CheckState state = CheckState::kOk;
  std::string finding = {};  ///< What there is.
  std::string matters = {};  ///< What Headroom needs it for, where it is not fine.
  std::string fix = {};      ///< What to do; empty: nothing need or can be done.
};

/// The Python that is asked where none is named.
inline constexpr const char* kUsualPython = "python3";

/// Runs all checks, the cheap ones first. Starts `python` to ask what it has; opens the libraries
/// of GPUs as recording would. Changes nothing.
///
/// @param folder  where recordings are to go
std::vector<MachineCheck> CheckMachine(const std::string& python, const std::string& folder);

}  // namespace headroom::cli
