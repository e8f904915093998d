#include "cli/machine/python_module.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/machine/installed_files.h"

namespace headroom::cli {

Status RunPythonModule(const std::string& python, const std::string& module,
                       const std::vector<std::string>& arguments) {
  const InstalledFiles files = FindInstalledFiles();
  if (files.package.empty()) {
    return Status::Environment(
        "the Python package is not next to this program; build it: cmake --build --preset release");
  }
  const std::string packages = std::filesystem::path(files.package).parent_path().string();
  const char* before = std::getenv("PYTHONPATH");
  const std::string path =
      before == nullptr || before[0] == 0 ? packages : fmt::format("{}:{}", packages, before);
  setenv("PYTHONPATH", path.c_str(), 1);
  std::vector<std::string> words = {python, "-m", module};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv(words.size() + 1, nullptr);
  std::ranges::transform(words, argv.begin(), [](std::string& word) { return word.data(); });
  execvp(argv.front(), argv.data());
  return Status::Usage(fmt::format("cannot run {}: {}; set --python to a Python that has PyTorch",
                                   python, std::strerror(errno)));
}

}  // namespace headroom::cli
