import { andThen } from "../../src/contract/awaitable.ts";
import type { AnswerApi } from "../../src/contract/api-message.ts";
import * as plain from "../../src/service/service.ts";
import { checkExchange } from "./api-description.ts";

/** The service of a test: everything that it answers is checked against the OpenAPI document. */
export const createService: typeof plain.createService = (options) => {
  const service = plain.createService(options);
  return { ...service, answer: checkEach(service.answer) };
};

function checkEach(answer: AnswerApi): AnswerApi {
  return (request) => {
    // Only within a process can a budget alone be asked for.
    if (request.onlyBudget === true) return answer(request);
    const { method, url, body } = request;
    let sent = typeof body === "string" ? body : "";
    const read = async (sender: "holder" | "keyless") =>
      (sent = typeof body === "function" ? await body(sender) : sent);
    const noted = typeof body === "function" ? { ...request, body: read } : request;
    return andThen(answer(noted), (reply) => {
      checkExchange({ method, url, body: sent }, reply);
      return reply;
    });
  };
}
