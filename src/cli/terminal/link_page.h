// A file that leads a browser to a link with a secret in it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace headroom::cli {

/// What a program is started with is there for every user of the machine to read, so the opener and
/// the browser get the name of a file that only this user can read, and the file holds the link. It
/// is in a folder of its own, in the user's runtime folder where there is one, else in the one for
/// temporary files; both go with the object.
class LinkPage {
 public:
  /// Fails where no such file can be written.
  static Result<LinkPage> Write(std::string_view link);

  LinkPage(LinkPage&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  LinkPage& operator=(LinkPage&&) = delete;
  LinkPage(const LinkPage&) = delete;
  LinkPage& operator=(const LinkPage&) = delete;
  ~LinkPage();

  std::string path() const;

 private:
  explicit LinkPage(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;  ///< Empty: moved from.
};

}  // namespace headroom::cli
