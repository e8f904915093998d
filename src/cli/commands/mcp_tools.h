// The tools of `headroom mcp`: which commands it offers, with which of their flags, and which files
// they may open.
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
  /// Fails (kUsage) where one is no folder. REQUIRES: there is one at least.
  static Result<OpenFolders> Make(const std::vector<std::string>& folders);

  /// The file or folder itself, links resolved; a relative path begins at the first folder. Fails
  /// (kUsage) where it does not exist or is not below a folder, or where it is a folder with a link
  /// that leads out. What is replaced by a link afterwards is not seen.
  Result<std::string> Resolve(const std::string& path) const;

  /// "/a, /b".
  std::string Names() const;

 private:
  explicit OpenFolders(std::vector<std::filesystem::path> folders) : folders_(std::move(folders)) {}
  bool Holds(const std::filesystem::path& canonical) const;
  Status Outside(const std::string& path) const;

  std::vector<std::filesystem::path> folders_;  ///< Links resolved.
};

/// One tool a command that answers from files. What it takes is made of the command's own flags;
/// those that write, print otherwise or are about this machine are left out.
///
/// @param commands   of the program; not needed afterwards
/// @param max_bytes  of an answer, for commands that can be told
std::vector<mcp::Tool> ToolsOf(const std::vector<CommandDescription>& commands,
                               const OpenFolders& folders, std::size_t max_bytes);

}  // namespace headroom::cli
