// Runs a Python program that is built into ours, with the user's Python.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/named_text.h"
#include "base/status.h"

namespace headroom::cli {

/// A folder of our own that is gone afterwards.
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

/// The last line that is not empty.
std::string LastLine(std::string text);

/// What the program prints. kUsage where it fails, with the last line that it said of the cause.
///
/// @param what    what it is for, of messages: "run the training loops"
/// @param folder  takes the program and its errors
Result<std::string> RunPythonProgram(const std::string& python, const NamedText& program,
                                     const std::vector<std::string>& arguments,
                                     const std::string& folder, const std::string& what);

}  // namespace headroom::cli
