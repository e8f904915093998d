// The tools of `headroom mcp`: the commands and flags that it offers, and the files that it may
// open.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/flags/command_description.h"
#include "mcp/tool.h"

namespace headroom::cli {

/// Folders below which files may be opened.
class OpenFolders {
 public:
  /// Fails with kUsage if an element is not a folder. Requires at least one folder.
  static Result<OpenFolders> Make(const std::vector<std::string>& folders);

  /// Returns the file or folder with links resolved. A relative path begins at the first folder.
  /// Fails with kUsage if `path` does not exist or is not below one of the folders. Also fails if
  /// it is a folder with a link that leads out of them. Does not detect links that are made
  /// afterwards.
  Result<std::string> Resolve(const std::string& path) const;

  /// Returns the folders, such as "/a, /b".
  std::string Names() const;

 private:
  explicit OpenFolders(std::vector<std::filesystem::path> folders) : folders_(std::move(folders)) {}
  bool Holds(const std::filesystem::path& canonical) const;
  Status Outside(const std::string& path) const;

  std::vector<std::filesystem::path> folders_;  ///< With links resolved.
};

/// Returns one tool per command that answers from files. The inputs of a tool are flags of the
/// command. Leaves out flags that write files, change the output format or concern this machine.
///
/// @param commands   all commands of the program; the tools do not refer to them
/// @param max_bytes  maximum bytes of an answer, for commands with --max-bytes
std::vector<mcp::Tool> ToolsOf(const std::vector<CommandDescription>& commands,
                               const OpenFolders& folders, std::size_t max_bytes);

}  // namespace headroom::cli
