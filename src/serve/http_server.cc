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

#include "answers/report/html.h"
#include "render/escape.h"
#include "render/json_writer.h"
#include "serve/access.h"
#include "serve/answer_cache.h"
#include "serve/bounded_server.h"
#include "serve/loopback.h"
#include "serve/page_answers.h"
#include "serve/query.h"
#include "serve/questions.h"
#include "serve/replies.h"
#include "serve/run_answers.h"

namespace headroom {
namespace {

/// Allows no other origin, only the page's own scripts, and no embedding in frames.
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
      return "this server accepts requests to 127.0.0.1 and localhost only\n";
    case Access::kForeignOrigin:
      return "this server accepts only requests from its page\n";
    case Access::kNoOrigin:
      return "this request requires the origin of the page that headroom ui shows\n";
    default:
      return "the token is missing: open the link that headroom ui printed\n";
  }
}

/// Returns the text for errors that httplib itself detects.
std::string_view WhyNot(int status) {
  switch (status) {
    case 400:
      return "the request is not valid HTTP";
    case 404:
      return "not found";
    case 413:
      return "the request has a body, but this server accepts none";
    case 414:
      return "the address is too long: request less at once";
    case 417:
      return "this server does not support the header Expect: send the request without it";
    case 431:
      return "the request's headers are too large";
    default:
      return "the server cannot answer the request";
  }
}

std::string WhatFailed(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return "not enough memory for the answer: request less at once, or end other programs";
  } catch (const std::exception& error) {
    return fmt::format("headroom failed: {}; please report it with the request",
                       Printable(error.what(), Charset::kAscii));
  } catch (...) {
    return "headroom failed; please report it with the request";
  }
}

/// Returns headroom.state/1.
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

/// Returns equal keys for equal requests; excludes the token.
std::string KeyOf(const httplib::Params& parameters) {
  std::string key;
  for (const auto& [name, value] : parameters) {
    if (name != "token") key += fmt::format("{}:{}{}:{}", name.size(), name, value.size(), value);
  }
  return key;
}

/// Returns the ETag (RFC 9110, section 8.8.3), which changes each time the files are read again.
std::string TagOf(const LiveSession::State& state) {
  return fmt::format("\"{}\"", state.generation);
}

/// Returns false if the request is about an earlier reading of the files.
bool Matches(const httplib::Request& request, const std::string& tag) {
  if (!request.has_header("If-Match")) return true;
  const std::string wanted = request.get_header_value("If-Match");
  return wanted == tag || wanted == "*";
}

/// An empty or repeated `Origin` header counts as an unknown origin.
std::string Known(const std::string& origin) { return origin.empty() ? "null" : origin; }

class Server final : public HttpServer {
 public:
  Server(LiveSession& source, RepeatedRun* run, std::span<const NamedText> page)
      : source_(source), run_(run), files_(page) {
    for (const NamedText& file : page) {
      const std::size_t slash = file.name.rfind('/');
      page_[std::string(file.name.substr(slash == std::string_view::npos ? 0 : slash + 1))] =
          file.content;
    }
    // Without this option, the end of an answer waits until the client acknowledges its start, and
    // clients delay that by about 40 ms.
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
    // stop() has no effect before the server runs.
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
    // Ignores a header that occurs twice.
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
        // Redirects so that the history does not contain the token. After a link from another site,
        // browsers would not send the cookie with the redirect. In that case, the page itself
        // removes the token.
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

  /// Handles the request before httplib reads a body. For a POST without a length, httplib waits
  /// until the request times out. Leaves requests that announce a body to httplib, which rejects
  /// them.
  Handled Act(const httplib::Request& request, httplib::Response& response) const {
    if (!Acts(request) || BoundedServer::HasBody(request)) return Handled::Unhandled;
    const bool begins = request.path == kRunPath;
    const bool done = begins ? run_->Begin() : run_->Stop();
    response.status = done ? 202 : 409;
    response.set_content(done     ? RunJson(*run_)
                         : begins ? ErrorJson("the program is already running: stop it, or wait")
                                  : ErrorJson("no program is running"),
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
    server_.Get("/api/v1/file", [this, &kept = given_["file"]](const httplib::Request& request,
                                                               httplib::Response& response) {
      const LiveSession::State now = source_.Now();
      if (!IsAboutFilesOf(now, request, response)) return;
      const Result<std::string> html =
          kept.Get(fmt::format("{}", now.generation), [&]() -> Result<std::string> {
            const Result<std::vector<PageAnswer>> answers =
                AnswersOfPage(*now.session, BoundedServer::IsAwaited);
            if (!answers.ok()) return answers.status();
            return RenderHtml(files_, answers.value());
          });
      if (!html.ok()) return Reply(html, kJson, response);
      SendAsIs(std::make_shared<const std::string>(html.value()), "text/html; charset=utf-8",
               response);
      // Without a name: the page knows the trace's.
      response.set_header("Content-Disposition", "attachment");
    });
    for (const auto& [name, question] : Questions()) {
      AnswerCache* given = question.is_kept ? &given_[name] : nullptr;
      server_.Get(
          "/api/v1/" + name, [this, question = question, given](const httplib::Request& request,
                                                                httplib::Response& response) {
            const LiveSession::State now = source_.Now();
            if (!IsAboutFilesOf(now, request, response)) return;
            const auto answer = [&] {
              Query query(request.params);
              return AnswerTo(question, *now.session, query, BoundedServer::IsAwaited);
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

  /// Returns false, with an answer, if the request is about an earlier reading of the files.
  static bool IsAboutFilesOf(const LiveSession::State& now, const httplib::Request& request,
                             httplib::Response& response) {
    const std::string tag = TagOf(now);
    response.set_header("ETag", tag);
    if (Matches(request, tag)) return true;
    response.status = 412;
    response.set_content(ErrorJson("the files have changed and were read again; the request is "
                                   "about their previous contents"),
                         kJson);
    return false;
  }

  static void SendAsIs(const std::shared_ptr<const std::string>& text, const std::string& type,
                       httplib::Response& response) {
    response.set_content_provider(
        text->size(), type,
        [text](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
          return sink.write(text->data() + offset, length);
        });
  }

  /// Bypasses httplib's compression, which uses the highest Brotli level and takes 0.4 s for the
  /// page's 220 kB.
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
  std::map<std::string, AnswerCache> given_;  ///< Cached answers, by request.
  const std::span<const NamedText> files_;    ///< All files of the page.
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
