// Runs a Python program that is embedded in this executable, with the user's Python.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/named_text.h"
#include "base/status.h"

namespace headroom::cli {

/// A new folder that the destructor removes.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> Make();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Returns the last line that is not empty.
std::string LastLine(std::string text);

/// Returns the output of the program. Fails with kUsage if the program fails, with its last line as
/// the reason.
///
/// @param what    purpose of the program, for messages: "run the training loops"
/// @param folder  folder for the program and its stderr
Result<std::string> RunPythonProgram(const std::string& python, const NamedText& program,
                                     const std::vector<std::string>& arguments,
                                     const std::string& folder, const std::string& what);

}  // namespace headroom::cli
