#include "cli/link_page.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

/// Without a script, which some browsers do not run in a file.
constexpr std::string_view kPage =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"referrer\" content=\"no-referrer\">\n"
    "<meta http-equiv=\"refresh\" content=\"0; url={0}\">\n<title>Headroom</title>\n</head>\n"
    "<body><p><a href=\"{0}\">Open Headroom's page</a></p></body>\n</html>\n";

/// A new folder that only this user can enter; empty: there cannot be one.
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

bool WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = write(file, text.data(), text.size());
    if (size < 0 && errno != EINTR) return false;
    if (size > 0) text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

}  // namespace

Result<LinkPage> LinkPage::Write(std::string_view link) {
  LinkPage page(NewFolder());
  if (page.folder_.empty())
    return Status::Internal("no folder can be made in XDG_RUNTIME_DIR, nor in TMPDIR");
  constexpr mode_t kOwnerOnly = 0600;
  const std::string path = page.path();
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly);
  const bool written = file >= 0 && WriteAll(file, fmt::format(kPage, link));
  const int error = errno;
  if (file >= 0) close(file);
  if (!written)
    return Status::Internal(fmt::format("cannot write {}: {}", path, std::strerror(error)));
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
