#include "cli/machine/metrics_server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "base/ascii.h"
#include "serve/access.h"
#include "serve/bounded_server.h"
#include "serve/loopback.h"

namespace headroom::cli {
namespace {

constexpr const char* kTextFormat = "text/plain; version=0.0.4; charset=utf-8";

class Server : public MetricsServer {
 public:
  explicit Server(MetricsAddress address) : address_(std::move(address)) {
    // Scrapes are seconds apart, so open connections would only waste resources.
    server_.set_keep_alive_max_count(1);
    server_.set_pre_routing_handler([this](const httplib::Request& request,
                                           httplib::Response& response) {
      if (!address_.token.empty()) {
        if (request.get_header_value_count("Authorization") == 1 &&
            HasToken(request.get_header_value("Authorization")))
          return httplib::Server::HandlerResponse::Unhandled;
        response.status = 401;
        response.set_header("WWW-Authenticate", "Bearer");
        response.set_content("this server requires its token: Authorization: Bearer TOKEN\n",
                             "text/plain");
        return httplib::Server::HandlerResponse::Handled;
      }
      if (request.get_header_value_count("Host") == 1 &&
          IsLoopbackHost(request.get_header_value("Host"), port_))
        return httplib::Server::HandlerResponse::Unhandled;
      response.status = 403;
      response.set_content("this server answers for 127.0.0.1 and localhost only\n", "text/plain");
      return httplib::Server::HandlerResponse::Handled;
    });
    server_.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      const std::lock_guard<std::mutex> lock(mutex_);
      response.set_content(text_, kTextFormat);
    });
    server_.Get("/", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("headroom monitor: the metrics are at /metrics\n", "text/plain");
    });
  }
  ~Server() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Status Listen() {
    const Result<int> bound = BindTo(server_, address_.address, address_.port);
    if (!bound.ok()) return bound.status();
    server_.DeepenBacklog();
    port_ = bound.value();
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // stop() has no effect before the server runs.
    while (!server_.is_running()) std::this_thread::yield();
    return Status::Ok();
  }

  int port() const override { return port_; }

  void Publish(std::string text) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    text_ = std::move(text);
  }

 private:
  /// The name of the scheme may have capitals (RFC 9110, section 11.1).
  bool HasToken(std::string_view authorization) const {
    constexpr std::string_view kScheme = "bearer ";
    return std::ranges::equal(authorization.substr(0, kScheme.size()), kScheme, {}, ToLower) &&
           SameSecret(authorization.substr(kScheme.size()), address_.token);
  }

  MetricsAddress address_;
  BoundedServer server_;
  int port_ = -1;
  std::mutex mutex_;
  std::string text_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<MetricsServer>> MetricsServer::Start(const MetricsAddress& address) {
  auto server = std::make_unique<Server>(address);
  if (Status status = server->Listen(); !status.ok()) return status;
  return std::unique_ptr<MetricsServer>(std::move(server));
}

bool IsLoopbackHost(const std::string& host, int port) {
  for (const char* name : {kLoopback, "localhost"}) {
    if (host == name || host == fmt::format("{}:{}", name, port)) return true;
  }
  return false;
}

}  // namespace headroom::cli
