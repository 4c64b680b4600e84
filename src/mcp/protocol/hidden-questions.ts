import type { Implementation } from "@modelcontextprotocol/server";
import type { Clock } from "../../contract/clock.ts";
import { limits } from "../../contract/limits.ts";
import type { State } from "../../state/state.ts";
import { hashValue } from "../../text/digest.ts";

/**
 * Remembers which clients answer questions without showing them to a user, and which approval pages
 * a client has opened. Works across calls, even without sessions.
 */
export type ClientMemory = {
  readonly recall: (key_print: string, info: Implementation | undefined) => KnownClient;
};

/** A client of a key, identified by its name and version. */
type KnownClient = {
  readonly noteAsked: (question: unknown, token: string) => void;
  /**
   * Returns whether a user saw the question, and remembers a client that does not show questions.
   * `isEnded` means that the client ended the call, and so also closed the question.
   */
  readonly noteReply: (reply: QuestionReply, isEnded: boolean) => Promise<boolean>;
  /**
   * Whether the client handles questions without showing them to the user. `repeated` is the form
   * that a client with MCP version 2026-07-28 would get next. If the client left the same form
   * unanswered before, we assume that it does not show forms.
   */
  readonly hidesQuestions: (repeated: unknown) => Promise<boolean>;
  /** Records that the client has opened an approval's page, so that it is not opened again. */
  readonly noteOpened: (approval: string) => void;
  readonly hasOpened: (approval: string) => boolean;
};

/** A client's reply to a question. `response` is undefined if there is no answer. */
export type QuestionReply = {
  readonly to: "form" | "page";
  readonly token: string;
  readonly response: unknown;
  readonly action?: "accept" | "decline" | "cancel" | undefined;
  /**
   * Why there is no answer: the client returned an error, ended the call, or reported a timeout.
   */
  readonly failure?: "error" | "timeout";
};

const unseen_ms = 300;
/** The client is asked again after this time, in case it can now show questions. */
const hides_ms = 60 * 60_000;
/** Clients time out after about a minute, but may start counting before the server does. */
const clientTimeout_ms = 45_000;

/**
 * The maximum number of events in memory. If an old event is dropped, a question may be asked
 * again, or an automatic answer may be mistaken for the user's.
 */
const mostNotes = 5000;

type MemoryOptions = {
  readonly clock: Pick<Clock, "monotonic">;
  readonly openState: () => Promise<Pick<State, "kept">>;
};

export function createClientMemory({ clock, openState }: MemoryOptions): ClientMemory {
  /** Events by name, such as `answered` plus an approval's ID, with their times. Newest last. */
  const notes = new Map<string, { readonly at: number; readonly token: string }>();

  function note(name: string, token = ""): void {
    notes.delete(name);
    notes.set(name, { at: clock.monotonic(), token });
    const [first] = notes.size > mostNotes ? notes.keys() : [];
    if (first !== undefined) notes.delete(first);
  }

  function readAge(name: string): number {
    return clock.monotonic() - (notes.get(name)?.at ?? -Infinity);
  }

  function wasLeftOpen(question: string): boolean {
    const age = readAge(question);
    const { token = "" } = notes.get(question) ?? {};
    return age >= clientTimeout_ms && age <= limits.approval_ms && !notes.has(`answered ${token}`);
  }

  function recall(key_print: string, info: Implementation | undefined): KnownClient {
    const client = hashValue([key_print, info?.name, info?.version]);
    const nameQuestion = (question: unknown) => `question ${hashValue([client, question])}`;

    /** Saves to the database, because each stdio session is a new process. */
    async function noteHidden(): Promise<void> {
      const { kept } = await openState();
      await kept.save("hidden_form", `${key_print} ${client}`, true, { owner: key_print });
    }

    return {
      noteAsked: (question, token) => {
        note(`asked ${token}`);
        note(nameQuestion(question), token);
      },
      noteReply: async ({ to, token, response, action, failure }, isEnded) => {
        const age = readAge(`asked ${token}`);
        note(`answered ${token}`);
        // The age is infinite if another process asked the question.
        const isLate = age >= clientTimeout_ms && age < Infinity;
        const hasTimedOut = isLate && (action === "cancel" || failure !== undefined);
        if (to === "form" && (failure === "timeout" || hasTimedOut)) {
          await noteHidden();
          return false;
        }
        const isNo = response === undefined || action === "decline" || action === "cancel";
        if (!isNo || isEnded || age > unseen_ms) return true;
        note(`unseen ${client}`);
        return false;
      },
      hidesQuestions: async (repeated) => {
        if (readAge(`unseen ${client}`) <= hides_ms) return true;
        if (repeated !== undefined && wasLeftOpen(nameQuestion(repeated))) await noteHidden();
        const { kept } = await openState();
        return (await kept.find("hidden_form", `${key_print} ${client}`)) !== undefined;
      },
      noteOpened: (approval) => note(`opened ${client} ${approval}`),
      hasOpened: (approval) => readAge(`opened ${client} ${approval}`) <= limits.approval_ms,
    };
  }
  return { recall };
}
