#include "cli/terminal/link_page.h"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

#include "base/private_file.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

/// Works without a script, because some browsers run no scripts in local files.
constexpr std::string_view kPage =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"referrer\" content=\"no-referrer\">\n"
    "<meta http-equiv=\"refresh\" content=\"0; url={0}\">\n<title>Headroom</title>\n</head>\n"
    "<body><p><a href=\"{0}\">Open Headroom's page</a></p></body>\n</html>\n";

/// Returns a new folder that only this user can enter; empty on failure.
fs::path NewFolderIn(const fs::path& root) {
  std::string name = (root / "headroom-ui-XXXXXX").string();
  return mkdtemp(name.data()) == nullptr ? fs::path() : fs::path(name);
}

fs::path NewFolder() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/') {
    if (fs::path folder = NewFolderIn(runtime); !folder.empty()) return folder;
  }
  std::error_code error;
  const fs::path root = fs::temp_directory_path(error);
  return error ? fs::path() : NewFolderIn(root);
}

}  // namespace

Result<LinkPage> LinkPage::Write(std::string_view link) {
  LinkPage page(NewFolder());
  if (page.folder_.empty())
    return Status::Environment("cannot make a folder in XDG_RUNTIME_DIR or in TMPDIR");
  Result<PrivateFile> file = PrivateFile::Create(page.path(), /*replace=*/false);
  if (!file.ok()) return file.status();
  if (Status status = file.value().Append(fmt::format(kPage, link)); !status.ok()) return status;
  return page;
}

LinkPage::~LinkPage() {
  if (folder_.empty()) return;
  std::error_code gone;
  fs::remove(path(), gone);
  fs::remove(folder_, gone);
}

std::string LinkPage::path() const { return (folder_ / "headroom.html").string(); }

}  // namespace headroom::cli
