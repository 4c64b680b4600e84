import { createHmac, randomBytes } from "node:crypto";
import {
  acceptedContent,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type ElicitRequestFormParams,
  type InputRequiredResult,
} from "@modelcontextprotocol/server";
import { say, type FixtureCall, type FixtureTool } from "./fixture.ts";

/** The suite's tools that need input from the client. */

type Form = ElicitRequestFormParams["requestedSchema"];

/** In earlier revisions, the server asks while the call waits. */
const pushing: readonly FixtureTool[] = [
  {
    name: "test_sampling",
    inputSchema: { type: "object", properties: { prompt: { type: "string" } } },
    run: async ({ prompt }, { context }) => {
      const { content } = await context.mcpReq.requestSampling(writeQuestion(String(prompt), 100));
      return say(`LLM response: ${JSON.stringify(content)}`);
    },
  },
  {
    name: "test_elicitation",
    inputSchema: { type: "object", properties: { message: { type: "string" } } },
    run: ({ message }, asked) =>
      push(asked, String(message), {
        type: "object",
        properties: {
          username: { type: "string", description: "User's response" },
          email: { type: "string", description: "User's email address" },
        },
        required: ["username", "email"],
      }),
  },
  {
    name: "test_elicitation_sep1034_defaults",
    run: (_given, asked) =>
      push(asked, "Are these right?", {
        type: "object",
        properties: {
          name: { type: "string", default: "John Doe" },
          age: { type: "integer", default: 30 },
          score: { type: "number", default: 95.5 },
          status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
          verified: { type: "boolean", default: true },
        },
      }),
  },
  {
    name: "test_elicitation_sep1330_enums",
    run: (_given, asked) =>
      push(asked, "Choose.", {
        type: "object",
        properties: {
          untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
          titledSingle: { type: "string", oneOf: nameValues("value", "Option") },
          legacyEnum: {
            type: "string",
            enum: ["opt1", "opt2", "opt3"],
            enumNames: ["Option One", "Option Two", "Option Three"],
          },
          untitledMulti: {
            type: "array",
            items: { type: "string", enum: ["option1", "option2", "option3"] },
          },
          titledMulti: { type: "array", items: { anyOf: nameValues("value", "Choice") } },
        },
      }),
  },
];

const elicitName = inputRequired.elicit({
  message: "What is your name?",
  requestedSchema: demand("name"),
});
const askRoots = inputRequired.listRoots();

/** In 2026-07-28, the result says what is missing, and the client repeats the call with it. */
const answering: readonly FixtureTool[] = [
  {
    name: "test_input_required_result_elicitation",
    run: (_given, asked) => {
      const name = readContent(asked, "user_name")?.["name"];
      if (typeof name === "string") return say(`Hello, ${name}!`);
      return inputRequired({ inputRequests: { user_name: elicitName } });
    },
  },
  {
    name: "test_streaming_elicitation",
    run: () => inputRequired({ inputRequests: { user_name: elicitName } }),
  },
  {
    name: "test_input_required_result_sampling",
    run: (_given, asked) => {
      const question = inputRequired.createMessage(
        writeQuestion("What is the capital of France?", 100),
      );
      return askOnce(asked, { capital_question: question });
    },
  },
  {
    name: "test_input_required_result_list_roots",
    run: (_given, asked) => askOnce(asked, { client_roots: askRoots }),
  },
  {
    name: "test_missing_capability",
    run: () => {
      const question = inputRequired.createMessage(writeQuestion("Is anybody there?", 10));
      return inputRequired({ inputRequests: { question } });
    },
  },
  {
    name: "test_input_required_result_capabilities",
    run: () => {
      const question = inputRequired.createMessage(writeQuestion("What can you do?", 50));
      return inputRequired({ inputRequests: { question } });
    },
  },
];

const secret = randomBytes(32);

/** The same, with a signed state that the client returns. */
const remembering: readonly FixtureTool[] = [
  {
    name: "test_input_required_result_request_state",
    run: (_given, asked) => confirmSealed(asked),
  },
  {
    name: "test_input_required_result_tampered_state",
    run: (_given, asked) => confirmSealed(asked),
  },
  {
    name: "test_input_required_result_multiple_inputs",
    run: (_given, asked) => {
      const greeting = inputRequired.createMessage(writeQuestion("Generate a greeting", 50));
      const requests = { user_name: elicitName, greeting, client_roots: askRoots };
      return askOnce(asked, requests, signRound("inputs"));
    },
  },
  {
    name: "test_input_required_result_multi_round",
    run: (_given, asked) => {
      const round = readRound(asked);
      if (round === undefined) return askRound("step1", "Step 1: What is your name?", "name");
      if (round === "step1") {
        return askRound("step2", "Step 2: What is your favorite color?", "color");
      }
      return say("Thank you.");
    },
  },
];

export const toolsThatAsk: readonly FixtureTool[] = [...pushing, ...answering, ...remembering];

async function push(
  { context }: FixtureCall,
  message: string,
  requestedSchema: Form,
): Promise<CallToolResult> {
  const { action, content } = await context.mcpReq.elicitInput({ message, requestedSchema });
  return say(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);
}

/** Returns the result once all questions are answered. */
function askOnce(
  { context }: FixtureCall,
  inputRequests: Readonly<Record<string, InputRequest>>,
  requestState?: string,
): CallToolResult | InputRequiredResult {
  const given = context.mcpReq.inputResponses ?? {};
  const isAnswered = Object.keys(inputRequests).every((name) => name in given);
  if (isAnswered) return say(`You answered ${JSON.stringify(given)}`);
  return inputRequired({ inputRequests, ...(requestState !== undefined && { requestState }) });
}

type InputRequest = ReturnType<typeof inputRequired.elicit>;

function confirmSealed(asked: FixtureCall): CallToolResult | InputRequiredResult {
  if (readRound(asked) !== undefined) return say("state-ok");
  const confirm = inputRequired.elicit({
    message: "Please confirm",
    requestedSchema: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] },
  });
  return inputRequired({ inputRequests: { confirm }, requestState: signRound("confirm") });
}

function askRound(step: string, message: string, field: string): InputRequiredResult {
  const question = inputRequired.elicit({ message, requestedSchema: demand(field) });
  return inputRequired({ inputRequests: { [step]: question }, requestState: signRound(step) });
}

function signRound(round: string): string {
  return `${round}.${createHmac("sha256", secret).update(round).digest("base64url")}`;
}

function readRound({ context }: FixtureCall): string | undefined {
  const state = context.mcpReq.requestState();
  if (state === undefined) return undefined;
  const [round = ""] = typeof state === "string" ? state.split(".") : [];
  if (state === signRound(round)) return round;
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    "The state was not issued by this server.",
  );
}

function readContent({ context }: FixtureCall, name: string): Record<string, unknown> | undefined {
  return acceptedContent(context.mcpReq.inputResponses, name);
}

function demand(field: string): Form {
  return { type: "object", properties: { [field]: { type: "string" } }, required: [field] };
}

function nameValues(value: string, title: string) {
  return ["First", "Second", "Third"].map((rank, index) => ({
    const: `${value}${index + 1}`,
    title: `${rank} ${title}`,
  }));
}

function writeQuestion(text: string, maxTokens: number) {
  return {
    messages: [{ role: "user" as const, content: { type: "text" as const, text } }],
    maxTokens,
  };
}
