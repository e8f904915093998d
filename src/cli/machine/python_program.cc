#include "cli/machine/python_program.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/read_file.h"
#include "render/escape.h"

namespace headroom::cli {

namespace fs = std::filesystem;

std::string LastLine(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

Result<TemporaryFolder> TemporaryFolder::Make() {
  std::error_code error;
  const fs::path root = fs::temp_directory_path(error);
  std::string name = ((error ? fs::path("/tmp") : root) / "headroom-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    return Status::Environment(
        fmt::format("cannot make a folder {}: {}", name, std::strerror(errno)));
  return TemporaryFolder(std::move(name));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<std::string> RunPythonProgram(const std::string& python, const NamedText& program,
                                     const std::vector<std::string>& arguments,
                                     const std::string& folder, const std::string& what) {
  const std::string path = folder + "/program.py", errors = folder + "/stderr";
  {
    std::ofstream file(path, std::ios::binary);
    file << program.content;
    if (!file.flush()) return Status::Environment(fmt::format("cannot write {}", path));
  }
  std::string command = ShellQuote(python) + " " + ShellQuote(path);
  for (const std::string& argument : arguments) command += " " + ShellQuote(argument);
  command += " 2>" + ShellQuote(errors);
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr)
    return Status::Environment(fmt::format("cannot run {}: {}", python, std::strerror(errno)));
  std::string printed;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    printed.append(buffer.data(), n);
  const int ended = pclose(pipe);
  if (ended == -1 || !WIFEXITED(ended) || WEXITSTATUS(ended) != 0) {
    const std::string cause = LastLine(ReadFileOrEmpty(errors));
    return Status::Usage(fmt::format(
        "{} could not {}: {}; set --python to a Python that has PyTorch", python, what,
        cause.empty() ? fmt::format("it ended with status {} and printed no reason",
                                    ended != -1 && WIFEXITED(ended) ? WEXITSTATUS(ended) : ended)
                      : cause));
  }
  return printed;
}

}  // namespace headroom::cli
