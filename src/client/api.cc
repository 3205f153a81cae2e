#include "client/api.h"

#include <fmt/format.h>

#include <future>
#include <memory>
#include <utility>

#include "client/loop.h"
#include "json/reader.h"

namespace tessera::client {

std::string ApiResponse::message() const {
  if (!body.empty()) {
    json::Parser parser;
    const Result<json::Value> status_object = parser.parse(std::string_view(body));
    if (status_object) {
      const std::string_view text = (*status_object)["message"].string_or("");
      if (!text.empty()) return std::string(text);
    }
  }
  if (!error.empty()) return error;
  return fmt::format("code {}", status);
}

ApiClient::ApiClient(Credentials credentials, ApiClientOptions options, obs::Metrics& metrics)
    : impl_(std::make_unique<Impl>(std::move(credentials), std::move(options), metrics)) {}

ApiClient::~ApiClient() = default;

void ApiClient::send(ApiRequest request, std::function<void(ApiResponse)> done) {
  auto call = std::make_unique<Call>();
  call->request = std::move(request);
  call->done = std::move(done);
  impl_->post(std::move(call));
}

ApiResponse ApiClient::call(ApiRequest request) {
  ApiResponse refused;
  if (impl_->on_own_thread()) {
    refused.error = "call() on the client's own thread would wait for itself";
    return refused;
  }
  auto answer = std::make_shared<std::promise<ApiResponse>>();
  std::future<ApiResponse> future = answer->get_future();
  send(std::move(request), [answer = std::move(answer)](ApiResponse response) {
    answer->set_value(std::move(response));
  });
  try {
    return future.get();
  } catch (const std::future_error&) {  // the client was destroyed, and the callback with it
    refused.error = "the client has ended";
    return refused;
  }
}

std::uint64_t ApiClient::stream(ApiRequest request, StreamHandlers handlers,
                                std::chrono::milliseconds silence) {
  auto stream = std::make_unique<Stream>();
  stream->request = std::move(request);
  stream->handlers = std::move(handlers);
  stream->silence = silence;
  stream->gate = std::make_shared<StreamGate>();
  return impl_->post(std::move(stream));
}

void ApiClient::cancel(std::uint64_t stream) { impl_->cancel(stream); }

void ApiClient::after(std::chrono::milliseconds delay, std::function<void()> f) {
  impl_->after(delay, std::move(f));
}

}  // namespace tessera::client
