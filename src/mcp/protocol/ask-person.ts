import type {
  ClientCapabilities,
  InputRequiredResult,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { Page, Person, PersonAsked } from "../approval/person-asked.ts";
import {
  askForPatience,
  askLegacy,
  askModern,
  isHidden,
  readAnswer,
  readReply,
  tellComplete,
  type Reply,
  type Timing,
} from "./approval-question.ts";
import { digestOf } from "../../text/digest.ts";
import { nameClient, type Caller } from "./caller.ts";
import type { ClientMemory } from "./client-memory.ts";
import type { ServerOptions } from "./server-options.ts";

/** What one call asks of the person before its client, and what it has heard so far. */
export type Dialogue = {
  readonly readPerson: () => Person;
  /** Asks in the way of the client's era. Without an answer of its own the call is made again. */
  readonly ask: (asked: PersonAsked) => Promise<InputRequiredResult | undefined>;
};

type Asking = Pick<ServerOptions, "keyContext" | "awaitDecision" | "clients" | "clock"> & {
  readonly tellWaiting: (seconds: number) => unknown;
};

/** A target that changes during every question cannot be approved. */
const mostQuestions = 3;
/** Most clients, and what is between them and us, give a call up after a minute. */
const patience_ms = 50_000;

export async function openDialogue(
  caller: Caller,
  context: ServerContext,
  asking: Asking,
): Promise<Dialogue> {
  const { awaitDecision, clients, clock, tellWaiting } = asking;
  const { key_print } = asking.keyContext;
  const { signal } = context.mcpReq;
  const { capabilities, info, isModern } = caller;
  const client = digestOf([key_print, info?.name, info?.version]);
  const begun = clock.monotonic();
  const shows = !clients.hidesQuestions(client);
  const brought = readReply(context);
  let questions = 0;
  let person: Person = {
    canAnswer: shows && canShowForm(capabilities),
    canOpen: shows && capabilities.elicitation?.url !== undefined,
    answer: brought && (await hear(brought)),
    waited: undefined,
    client: nameClient(caller),
  };

  return {
    readPerson: () => person,
    ask: async (asked) => {
      const { page } = asked;
      const question = digestOf([client, page?.id, asked.message]);
      const repeated = isModern && page === undefined ? question : undefined;
      if (await clients.hidesForms({ key_print, client }, repeated)) {
        person = { ...person, canAnswer: false, canOpen: false, answer: undefined };
        return undefined;
      }
      if (page?.isOpened === true) clients.noteOpened(client, page.id);
      if (page !== undefined && clients.hasOpened(client, page.id)) return wait(asked, page);
      clients.noteAsked(question, asked.token);
      if (isModern) return askModern(asked);
      const isLast = (questions += 1) > mostQuestions;
      const answer = isLast
        ? ({ token: asked.token, said: "no" } as const)
        : await hear(await askLegacy(asked, context));
      person = { ...person, answer };
      if (page === undefined || answer.said !== "opened") return undefined;
      clients.noteOpened(client, page.id);
      return wait(asked, page);
    },
  };

  async function hear(reply: Reply) {
    clients.noteAnswered(reply.token);
    const timing = readTiming(reply, clients, signal);
    const answer = readAnswer(reply, timing);
    if (isHidden(reply, timing)) await clients.noteHidden({ key_print, client });
    else if (timing.isTooSoon && answer.said === "nothing") clients.noteUnseen(client);
    return answer;
  }

  async function wait(asked: PersonAsked, page: Page): Promise<InputRequiredResult | undefined> {
    const until = endPatience(begun, clock.monotonic());
    const ended = await awaitDecision(page.id, { key_print, until, signal, tellWaiting });
    if (ended === "open" && isModern) return askForPatience(asked);
    const isDecided = ended === "decided";
    if (isDecided && !isModern) tellComplete(page, context);
    // What has changed while the person thought about it is read again, and so is what they said.
    const waited = isDecided ? page.id : undefined;
    person = { ...person, answer: undefined, waited, canOpen: isDecided && person.canOpen };
    return undefined;
  }
}

/** A client that still waits after the first period has more patience than most. */
function endPatience(begun: number, now: number): number {
  return (now < begun + patience_ms ? begun : now) + patience_ms;
}

function readTiming({ token }: Reply, clients: ClientMemory, signal: AbortSignal): Timing {
  // A call that ends soon ends its question, which the client may well have shown.
  const isTooSoon = !signal.aborted && clients.isTooSoon(token);
  return { isTooSoon, isGivenUp: clients.isGivenUp(token) };
}

/** Where the client can show no form, there is no person to ask. */
function canShowForm({ elicitation }: ClientCapabilities): boolean {
  if (elicitation === undefined) return false;
  // Before there were two ways, an empty object meant the form.
  return elicitation.form !== undefined || elicitation.url === undefined;
}
