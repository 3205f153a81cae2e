#include "service/extender_call.h"

#include <optional>
#include <utility>

#include "base/free_memory.h"
#include "obs/log.h"
#include "service/trial.h"

namespace tessera::service {
namespace {

/// Takes of whole nodes what is wanted of them. The name stays where it is: the candidates' names
/// are views of it.
class NodeTaker final : public k8s::NodeVisitor {
 public:
  /// `specs` null: nothing is wanted.
  NodeTaker(const vendors::Vendors& vendors, std::vector<core::NodeSpec>* specs)
      : vendors_(vendors), specs_(specs) {}

  void begin(std::size_t most) override {
    if (specs_ == nullptr) return;
    parser_.emplace();
    specs_->clear();
    specs_->reserve(most);  // room only: who sends two million numbers sends no node
  }
  void visit(k8s::Node& node) override {
    if (specs_ != nullptr) specs_->push_back(vendors_.read_node(node, *parser_).spec);
    // Their room goes too, which a plain = {} keeps.
    for (k8s::StringMap* map : {&node.annotations, &node.labels, &node.allocatable, &node.capacity})
      k8s::StringMap().swap(*map);
  }

 private:
  const vendors::Vendors& vendors_;
  std::vector<core::NodeSpec>* const specs_;
  std::optional<json::Parser> parser_;
};

/// What was read of so many whole nodes has been spread over the heap.
constexpr std::size_t kManyNodes = 2000;

constexpr std::size_t kPooledCalls = 16;
constexpr std::size_t kLargestPooled =
    1U << 20;  // node lists in full are rare and large: do not keep their memory

}  // namespace

void FilterCall::send_text() {
  std::string out = std::move(text);
  if (out.size() <= body.capacity()) {
    body.assign(out);
    std::swap(out, body);
    text = std::move(body);
    body.clear();
  }
  answer_with(std::move(out));
}

void FilterCall::send_text_beside_body() {
  answer_with(std::move(text));
  text.clear();
}

bool FilterCall::result_stays_in_body() const {
  return args.has_nodes && body.size() >= k8s::kReadWholeBelow;
}

void FilterCall::send_from_body() {
  struct Texts {
    std::string body, around;
  };
  const auto texts = std::make_shared<Texts>();
  texts->body = std::move(body);  // its characters stay where they are
  http::Response response;
  response.rest.pieces = k8s::gather_filter_result(result, texts->body, texts->around);
  response.rest.owner = texts;
  answer(std::move(response));
}

FilterCallPool::Handle FilterCallPool::take() {
  const std::lock_guard guard(mutex_);
  if (free_.empty()) return {new FilterCall, {this}};
  Handle call(free_.back().release(), {this});
  free_.pop_back();
  return call;
}

void FilterCallPool::give_back(std::unique_ptr<FilterCall> call) {
  if (call->args.has_nodes || call->body.capacity() > kLargestPooled ||
      call->text.capacity() > kLargestPooled) {
    const bool huge = call->args.nodes.size() >= kManyNodes;
    call.reset();
    if (huge) return_free_memory();
    return;
  }
  call->args.clear();
  call->result.clear();
  call->specs.clear();
  call->reader.reset();
  call->request = {};
  call->answer.reset();
  call->client_gone.reset();
  const std::lock_guard guard(mutex_);
  if (free_.size() < kPooledCalls) free_.push_back(std::move(call));
}

Status read_call(FilterCall& call, const LiveReader& live, std::string body, NodesForm form) {
  call.reader = live.get();
  const FactReader& reader = *call.reader;
  NodeTaker taker(reader.vendors(), form == NodesForm::kSimulate ? &call.specs : nullptr);
  if (Status read = k8s::read_extender_args(call.parser, std::move(body), call.body, reader.keep(),
                                            call.args, k8s::kReadWholeBelow, &taker);
      !read)
    return read;
  if (call.args.pod.ns.empty()) call.args.pod.ns = "default";
  if (call.args.has_nodes) {
    call.args.names.clear();
    for (const k8s::Node& node : call.args.nodes) call.args.names.emplace_back(node.name);
  }
  if (!call.args.has_names && !call.args.has_nodes)
    return fail(Code::kInvalid, "extender args name no nodes: NodeNames and Nodes are both null");
  Result<vendors::Demand> demand = reader.vendors().demand(call.args.pod, reader.defaults());
  if (!demand) return tl::unexpected(std::move(demand.error()));
  for (const std::string& warning : demand->warnings) {
    log::debug("filter",
               {{"pod", call.args.pod.ns + "/" + call.args.pod.name}, {"warning", warning}});
  }
  call.request = std::move(demand->request);
  return {};
}

core::Outcome place_simulated(FilterCall& call, const QuotaView* quotas,
                              const core::PlaceOptions& options) {
  const vendors::Vendors& vendors = call.reader->vendors();
  core::Cluster cluster(vendors.rules());
  const auto book = quotas == nullptr ? nullptr : quotas->get();
  if (book != nullptr) copy_quotas_left(*book, cluster, call.args.pod.ns);
  std::vector<NodeId> candidates;
  candidates.reserve(call.specs.size());
  for (core::NodeSpec& spec : call.specs)
    candidates.push_back(spec.devices.empty() ? NodeId{} : cluster.set_node(std::move(spec)));
  return core::place(cluster, call.request, candidates, options);
}

}  // namespace tessera::service
