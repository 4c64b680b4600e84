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
} from "./approval-question.ts";
import { digestOf } from "../../text/digest.ts";
import { once } from "../schemas/once.ts";
import { nameClient, type Caller } from "./caller.ts";
import type { ServerOptions } from "./server-options.ts";

/** What one call asks of the person before its client, and what it has heard so far. */
export type Dialogue = {
  readonly readPerson: () => Omit<Person, "token">;
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

export function openDialogue(caller: Caller, context: ServerContext, asking: Asking): Dialogue {
  const { awaitDecision, clients, clock, tellWaiting } = asking;
  const { signal } = context.mcpReq;
  const { capabilities, info, isModern } = caller;
  // Most calls ask nobody, and a digest costs more than all else that is made here.
  const nameAsked = once(() => digestOf([asking.keyContext.key_print, info?.name, info?.version]));
  const begun = clock.monotonic();
  const shows = !clients.hidesQuestions(nameAsked);
  const brought = readReply(context);
  let questions = 0;
  let person: Omit<Person, "token"> = {
    canAnswer: shows && canShowForm(capabilities),
    canOpen: shows && capabilities.elicitation?.url !== undefined,
    answer: brought && hear(brought),
    waited: undefined,
    client: nameClient(caller),
  };

  return {
    readPerson: () => person,
    ask: async (asked) => {
      const { page } = asked;
      const client = nameAsked();
      if (page?.isOpened === true) clients.noteOpened(client, page.id);
      if (page !== undefined && clients.hasOpened(client, page.id)) return wait(asked, page);
      clients.noteAsked(asked.token);
      if (isModern) return askModern(asked);
      const isLast = (questions += 1) > mostQuestions;
      const answer = isLast
        ? ({ token: asked.token, said: "no" } as const)
        : hear(await askLegacy(asked, context));
      person = { ...person, answer };
      if (page === undefined || answer.said !== "opened") return undefined;
      clients.noteOpened(client, page.id);
      return wait(asked, page);
    },
  };

  function hear(reply: Reply) {
    // A call that is given up ends its question, which the client may well have shown.
    const isTooSoon = clients.isTooSoon(reply.token) && !signal.aborted;
    const isGivenUp = clients.isGivenUp(reply.token) && !signal.aborted;
    const timing = { isTooSoon, isGivenUp };
    const answer = readAnswer(reply, timing);
    if (isHidden(reply, timing)) clients.noteHidden(nameAsked());
    else if (isTooSoon && answer.said === "nothing") clients.noteUnseen(nameAsked());
    return answer;
  }

  async function wait(asked: PersonAsked, page: Page): Promise<InputRequiredResult | undefined> {
    const now = clock.monotonic();
    // A client that is still there by then has more patience than most.
    const until = (now < begun + patience_ms ? begun : now) + patience_ms;
    const { key_print } = asking.keyContext;
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

/** Where the client can show no form, there is no person to ask. */
function canShowForm({ elicitation }: ClientCapabilities): boolean {
  if (elicitation === undefined) return false;
  // Before there were two ways, an empty object meant the form.
  return elicitation.form !== undefined || elicitation.url === undefined;
}
