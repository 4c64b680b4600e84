import type { AssistantClient, AssistantWorld } from "../support/assistant-world.ts";
import { waitUntil } from "../support/clock.ts";

/** A client with slow jobs: `apply_plan` returns the progress once the first row is done. */
export function slowDown(assistant: AssistantWorld, spacing_ms: number): AssistantClient {
  const readJob = async () => (await assistant.callTool("list_jobs")).structured.jobs[0];

  const callTool: AssistantClient["callTool"] = async (name, args) => {
    const answer = assistant.callTool(name, args);
    if (name === "apply_plan") {
      answer.catch(() => {});
      await waitUntil(async () => (await readJob())?.counts.done > 0);
      return assistant.callTool("get_job", { job_id: (await readJob()).id });
    }
    if (name === "cancel_job") {
      let isAnswered = false;
      void answer.finally(() => (isAnswered = true));
      await waitUntil(async () => (await readJob()).state === "cancelled");
      await waitUntil(() => {
        assistant.advance(spacing_ms);
        return isAnswered;
      });
    }
    return answer;
  };
  return { ...assistant, callTool };
}
