// A file that leads a browser to a link with a secret.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace headroom::cli {

/// Every user of the machine can read the arguments of a program. So xdg-open and the browser get
/// the name of a file that contains the link, which only this user can read. The file is in a
/// separate folder, in the user's runtime folder or else in the one for temporary files. The
/// destructor removes both.
class LinkPage {
 public:
  /// Fails if the file cannot be written.
  static Result<LinkPage> Write(std::string_view link);

  LinkPage(LinkPage&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  LinkPage& operator=(LinkPage&&) = delete;
  LinkPage(const LinkPage&) = delete;
  LinkPage& operator=(const LinkPage&) = delete;
  ~LinkPage();

  std::string path() const;

 private:
  explicit LinkPage(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;  ///< Empty after a move.
};

}  // namespace headroom::cli
