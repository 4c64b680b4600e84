import type { Implementation } from "@modelcontextprotocol/server";
import type { Clock } from "../../contract/clock.ts";
import { limits } from "../../contract/limits.ts";
import type { State } from "../../state/state.ts";
import { digestOf } from "../../text/digest.ts";

/**
 * Remembers between calls which clients answer questions without showing them to a person, and
 * which approval pages a client has opened. It also works without sessions.
 */
export type ClientMemory = {
  readonly recall: (key_print: string, info: Implementation | undefined) => KnownClient;
};

/** One client of one key, identified by its name and version. */
type KnownClient = {
  /** Records that a question is sent now, with this token. */
  readonly noteAsked: (question: unknown, token: string) => void;
  /**
   * Returns whether a person saw the question of this reply. `isEnded` says that the call has
   * ended, and its question with it. A client that shows no questions is remembered.
   */
  readonly hear: (reply: QuestionReply, isEnded: boolean) => Promise<boolean>;
  /**
   * Whether the client answers questions without showing them. `repeated` is a form question of a
   * 2026-07-28 call. If the same question was asked before and had no answer for as long as clients
   * wait, the form was not shown. There is no other sign of that.
   */
  readonly hidesQuestions: (repeated: unknown) => Promise<boolean>;
  /** Records that the client has opened an approval's page, so that it is not asked again. */
  readonly noteOpened: (approval: string) => void;
  readonly hasOpened: (approval: string) => boolean;
};

/** A client's reply to a question. `said` is undefined if the client failed to answer. */
export type QuestionReply = {
  readonly to: "form" | "page";
  readonly token: string;
  readonly said: unknown;
  readonly action?: "accept" | "decline" | "cancel" | undefined;
  /**
   * Why there is no answer: the client returned an error or ended the call, or reported a timeout.
   */
  readonly failure?: "error" | "timeout";
};

const unseen_ms = 300;
/** After this time the client is tried again, because it may be able to show questions now. */
const hides_ms = 60 * 60_000;
/** These clients cancel after a minute, but most start to count earlier than the server. */
const givenUp_ms = 45_000;

/**
 * Without its note, a question may be repeated, or an automatic answer counts as a person's
 * decision.
 */
const mostNotes = 5000;

type MemoryOptions = {
  readonly clock: Pick<Clock, "monotonic">;
  readonly openState: () => Promise<Pick<State, "kept">>;
};

export function createClientMemory({ clock, openState }: MemoryOptions): ClientMemory {
  /** Keyed by what happened and to which client, question or approval. The latest is last. */
  const notes = new Map<string, { readonly at: number; readonly token: string }>();

  function note(name: string, token = ""): void {
    notes.delete(name);
    notes.set(name, { at: clock.monotonic(), token });
    const [first] = notes.size > mostNotes ? notes.keys() : [];
    if (first !== undefined) notes.delete(first);
  }

  /** Infinity for anything that this process has not noted. */
  function readAge(name: string): number {
    return clock.monotonic() - (notes.get(name)?.at ?? -Infinity);
  }

  function wasLeftOpen(question: string): boolean {
    const age = readAge(question);
    const { token = "" } = notes.get(question) ?? {};
    return age >= givenUp_ms && age <= limits.approval_ms && !notes.has(`answered ${token}`);
  }

  function recall(key_print: string, info: Implementation | undefined): KnownClient {
    const client = digestOf([key_print, info?.name, info?.version]);
    const nameQuestion = (question: unknown) => `question ${digestOf([client, question])}`;

    /** Stored in the database, because each stdio session is a new process. */
    async function noteHidden(): Promise<void> {
      const { kept } = await openState();
      await kept.save("hidden_form", `${key_print} ${client}`, true, { owner: key_print });
    }

    return {
      noteAsked: (question, token) => {
        note(`asked ${token}`);
        note(nameQuestion(question), token);
      },
      hear: async ({ to, token, said, action, failure }, isEnded) => {
        const age = readAge(`asked ${token}`);
        note(`answered ${token}`);
        // The age is infinite for a question of another process.
        const isLate = age >= givenUp_ms && age < Infinity;
        const isGivenUp = isLate && (action === "cancel" || failure !== undefined);
        if (to === "form" && (failure === "timeout" || isGivenUp)) {
          await noteHidden();
          return false;
        }
        const isNo = said === undefined || action === "decline" || action === "cancel";
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
