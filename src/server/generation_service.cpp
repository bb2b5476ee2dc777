#include "server/generation_service.h"

#include "server/answer.h"

namespace sluice::server {
namespace {

class RunningAnswer : public api::Generation {
 public:
  explicit RunningAnswer(std::shared_ptr<Answer> answer) : answer_(std::move(answer)) {}
  ~RunningAnswer() override { answer_->cancel(); }
  void cancel() override { answer_->cancel(); }

 private:
  std::shared_ptr<Answer> answer_;
};

}  // namespace

Result<std::unique_ptr<api::Generation>> GenerationService::start(const api::TextRequest& asked,
                                                                  std::shared_ptr<api::TextSink> sink) {
  const api::TextRequest request = with_defaults(asked, model_->defaults);
  constexpr std::int32_t kChoicesMax = 128;
  if (request.choices < 1 || request.choices > kChoicesMax) {
    return tl::unexpected(Error{ErrorCode::kInvalidArgument,
                                fmt::format("n must be in [1, {}], got {}", kChoicesMax, request.choices),
                                "n"});
  }
  SLUICE_TRY_STATUS(
      sampling::validate(request.sampling, static_cast<std::int32_t>(model_->tokenizer->vocabulary())));
  SLUICE_TRY(Prompt prompt, build_prompt(*model_, request));
  auto answer = std::make_shared<Answer>(model_, workers_, request, std::move(prompt), std::move(sink));
  SLUICE_TRY_STATUS(answer->submit());
  return std::make_unique<RunningAnswer>(std::move(answer));
}

}  // namespace sluice::server
