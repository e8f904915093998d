#include "serve/http_server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <exception>
#include <map>
#include <new>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "render/escape.h"
#include "render/json_writer.h"
#include "serve/access.h"
#include "serve/answer_cache.h"
#include "serve/bounded_server.h"
#include "serve/loopback.h"
#include "serve/query.h"
#include "serve/questions.h"
#include "serve/replies.h"
#include "serve/run_answers.h"

namespace headroom {
namespace {

/// Nothing from elsewhere, no script but the page's own, in no other page's frame.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string_view TypeOf(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".svg", "image/svg+xml"},
  };
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

std::string_view WhyRefused(Access access) {
  switch (access) {
    case Access::kForeignHost:
      return "this server answers for 127.0.0.1 and localhost only\n";
    case Access::kForeignOrigin:
      return "this server answers its own page only\n";
    case Access::kNoOrigin:
      return "this is for the page that headroom ui shows, which tells its origin\n";
    default:
      return "open the link that headroom ui printed: it holds the token\n";
  }
}

/// What httplib answers by itself.
std::string_view WhyNot(int status) {
  switch (status) {
    case 400:
      return "the request cannot be read: it is no HTTP";
    case 404:
      return "not found";
    case 413:
      return "the request has a body, and nothing that is answered here takes one";
    case 414:
      return "the address is too long: ask for less at once";
    case 417:
      return "the request expects what this server does not do: send it without Expect";
    case 431:
      return "the request's headers are too large";
    default:
      return "the request cannot be answered";
  }
}

std::string WhatFailed(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return "there is not enough memory for the answer: ask for less at once, or end other programs";
  } catch (const std::exception& error) {
    return fmt::format("headroom failed: {}; please report it, with the question",
                       Printable(error.what(), Charset::kAscii));
  } catch (...) {
    return "headroom failed; please report it, with the question";
  }
}

/// headroom.state/1.
std::string StateJson(const LiveSession::State& state, bool can_run) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("headroom.state/1");
  json.Key("generation").Integer(state.generation);
  json.Key("problem").StringOrNull(state.problem);
  json.Key("can_run").Bool(can_run);
  json.EndObject();
  return std::move(json).Take();
}

/// The same for the same question; the token is no part of it.
std::string KeyOf(const httplib::Params& parameters) {
  std::string key;
  for (const auto& [name, value] : parameters) {
    if (name != "token") key += fmt::format("{}:{}{}:{}", name.size(), name, value.size(), value);
  }
  return key;
}

/// Tells one reading of the files from another (RFC 9110, section 8.8.3).
std::string TagOf(const LiveSession::State& state) {
  return fmt::format("\"{}\"", state.generation);
}

/// Whether a question may be answered of these files, or is about what they were before.
bool Matches(const httplib::Request& request, const std::string& tag) {
  if (!request.has_header("If-Match")) return true;
  const std::string wanted = request.get_header_value("If-Match");
  return wanted == tag || wanted == "*";
}

/// An origin that is not told is no page of ours.
std::string Known(const std::string& origin) { return origin.empty() ? "null" : origin; }

class Server final : public HttpServer {
 public:
  Server(LiveSession& source, RepeatedRun* run, std::span<const NamedText> page)
      : source_(source), run_(run) {
    for (const NamedText& file : page) {
      const std::size_t slash = file.name.rfind('/');
      page_[std::string(file.name.substr(slash == std::string_view::npos ? 0 : slash + 1))] =
          file.content;
    }
    // Else the end of an answer waits until its begin was acknowledged, which clients put off by
    // some 40 ms.
    server_.set_tcp_nodelay(true);
    server_.set_default_headers({{"Content-Security-Policy", kPolicy},
                                 {"X-Content-Type-Options", "nosniff"},
                                 {"Referrer-Policy", "no-referrer"},
                                 {"Cross-Origin-Opener-Policy", "same-origin"},
                                 {"Cross-Origin-Resource-Policy", "same-origin"},
                                 {"Cache-Control", "no-store"}});
    server_.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          return Admit(request, response) == Handled::Unhandled ? Act(request, response)
                                                                : Handled::Handled;
        });
    AddAnswers();
  }

  ~Server() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Status Listen(int port) {
    const Result<int> bound = BindToLoopback(server_, port);
    if (!bound.ok()) return bound.status();
    server_.DeepenBacklog();
    port_ = bound.value();
    access_ = std::make_unique<AccessRules>(MakeToken(), port_);
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // stop() has no effect on a server that does not run yet.
    while (!server_.is_running()) std::this_thread::yield();
    return Status::Ok();
  }

  int port() const override { return port_; }
  std::string Link() const override {
    return fmt::format("http://{}:{}/?token={}", kLoopback, port_, access_->token());
  }

 private:
  using Handled = httplib::Server::HandlerResponse;

  Handled Admit(const httplib::Request& request, httplib::Response& response) const {
    // A header that comes twice says nothing.
    const auto header = [&](const char* name) {
      return request.get_header_value_count(name) == 1 ? request.get_header_value(name)
                                                       : std::string();
    };
    const Access access =
        access_->Check({.host = header("Host"),
                        .origin = request.has_header("Origin") ? Known(header("Origin")) : "",
                        .token = request.get_param_value("token"),
                        .cookies = header("Cookie"),
                        .acts = Acts(request)});
    switch (access) {
      case Access::kByLink:
        response.set_header("Set-Cookie", access_->SetCookie());
        // The address with the token is in no history then. From a page of another site, browsers
        // would not send the cookie along; there the page itself takes the token away.
        if (request.path == "/" && request.get_header_value("Sec-Fetch-Site") == "none") {
          response.status = 303;
          response.set_header("Location", "/");
          return Handled::Handled;
        }
        return Handled::Unhandled;
      case Access::kByCookie:
        return Handled::Unhandled;
      default:
        response.status = 403;
        response.set_content(std::string(WhyRefused(access)), "text/plain; charset=utf-8");
        return Handled::Handled;
    }
  }

  bool Acts(const httplib::Request& request) const {
    return run_ != nullptr && request.method == "POST" &&
           (request.path == kRunPath || request.path == kStopPath);
  }

  /// Before httplib reads a body, which for a POST that tells no length it awaits until the time of
  /// the request is over. What announces one is left to it, and refused.
  Handled Act(const httplib::Request& request, httplib::Response& response) const {
    if (!Acts(request) || BoundedServer::HasBody(request)) return Handled::Unhandled;
    const bool begins = request.path == kRunPath;
    const bool done = begins ? run_->Begin() : run_->Stop();
    response.status = done ? 202 : 409;
    response.set_content(done     ? RunJson(*run_)
                         : begins ? ErrorJson("the program runs already: stop it, or wait")
                                  : ErrorJson("no program runs"),
                         kJson);
    return Handled::Handled;
  }

  void AddAnswers() {
    server_.Get("/api/v1/state", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(StateJson(source_.Now(), run_ != nullptr), kJson);
    });
    if (run_ != nullptr) {
      server_.Get(kRunPath, [this](const httplib::Request&, httplib::Response& response) {
        response.set_content(RunJson(*run_), kJson);
      });
    }
    for (const auto& [name, question] : Questions()) {
      AnswerCache* given = question.is_kept ? &given_[name] : nullptr;
      server_.Get(
          "/api/v1/" + name, [this, question = question, given](const httplib::Request& request,
                                                                httplib::Response& response) {
            const LiveSession::State now = source_.Now();
            const std::string tag = TagOf(now);
            response.set_header("ETag", tag);
            if (!Matches(request, tag)) {
              response.status = 412;
              response.set_content(ErrorJson("the files were written anew, and read again: this is "
                                             "a question about what they were before"),
                                   kJson);
              return;
            }
            const auto answer = [&] {
              Query query(request.params);
              return question.answer(*now.session, query, BoundedServer::IsAwaited);
            };
            const std::string key = fmt::format("{}:{}", now.generation, KeyOf(request.params));
            Reply(given == nullptr ? answer() : given->Get(key, answer), question.type, response);
          });
    }
    server_.Get("/([A-Za-z0-9_.-]*)",
                [this](const httplib::Request& request, httplib::Response& response) {
                  const std::string name = request.matches[1];
                  const auto file = page_.find(name.empty() ? "index.html" : name);
                  if (file == page_.end()) return NotThere(response);
                  SendAsIs(file->second, std::string(TypeOf(file->first)), response);
                });
    server_.set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty()) response.set_content(ErrorJson(WhyNot(response.status)), kJson);
    });
    server_.set_exception_handler(
        [](const httplib::Request&, httplib::Response& response, const std::exception_ptr& thrown) {
          response.status = 500;
          response.set_content(ErrorJson(WhatFailed(thrown)), kJson);
        });
  }

  /// A text that is set as content is compressed by httplib as well as Brotli can, which for the
  /// page's 220 kB takes 0.4 s.
  static void SendAsIs(std::string_view text, const std::string& type,
                       httplib::Response& response) {
    response.set_content_provider(
        text.size(), type, [text](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
          return sink.write(text.data() + offset, length);
        });
  }

  static void NotThere(httplib::Response& response) {
    response.status = 404;
    response.set_content(ErrorJson("not found"), kJson);
  }

  static constexpr const char* kRunPath = "/api/v1/run";
  static constexpr const char* kStopPath = "/api/v1/run/stop";

  LiveSession& source_;
  RepeatedRun* const run_;
  std::map<std::string, AnswerCache> given_;  ///< By question.
  std::map<std::string, std::string_view> page_;
  BoundedServer server_;
  int port_ = -1;
  std::unique_ptr<AccessRules> access_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Start(LiveSession& source, RepeatedRun* run,
                                                      std::span<const NamedText> page, int port) {
  auto server = std::make_unique<Server>(source, run, page);
  if (Status status = server->Listen(port); !status.ok()) return status;
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace headroom
