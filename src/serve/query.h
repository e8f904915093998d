// The parameters of a question to the server, as typed values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"

namespace headroom {

/// Parameters are taken one by one; Finish() then says what was wrong, or was not taken.
class Query {
 public:
  /// Names and values of an address.
  using Parameters = std::multimap<std::string, std::string>;

  /// @param parameters  outlive it; `token` is nobody's
  explicit Query(const Parameters& parameters) : parameters_(parameters) {}

  /// Of all of that name, also where one value holds several with commas between; none is empty.
  std::vector<std::string> List(const std::string& name);
  /// Of all of that name, whole.
  std::vector<std::string> Texts(const std::string& name);
  /// Empty: not given.
  std::string Text(const std::string& name);
  std::optional<double> Number(const std::string& name);
  std::vector<double> Numbers(const std::string& name);
  /// Must be given.
  std::int64_t Integer(const std::string& name);
  /// Also several in one value, with commas between; none is given: empty.
  std::vector<std::int64_t> Integers(const std::string& name);
  /// From 1 up to `most`.
  std::optional<std::int64_t> Count(const std::string& name, std::int64_t most);
  /// "1" or "0"; not given: false.
  bool Flag(const std::string& name);

  /// Fails (kUsage) with the first value that is wrong, else with names that nothing asked for.
  Status Finish() const;

 private:
  /// The only value; nullptr: not given.
  const std::string* One(const std::string& name);
  std::int64_t IntegerIn(const std::string& name, const std::string& text);
  std::optional<double> NumberIn(const std::string& name, const std::string& text);
  void Fail(std::string message);

  const Parameters& parameters_;
  std::set<std::string> taken_ = {"token"};
  Status status_ = Status::Ok();
};

}  // namespace headroom
