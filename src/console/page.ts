import type { Account } from "./account.ts";
import type { Part } from "./html.ts";

/** One page of the console, as listed in `pages.ts`. */
export type Page = {
  /** Matches the whole path. Its named groups become the visit's `params`. */
  readonly path: RegExp;
  /** The page's entry in the menu; omitted for pages that are not in the menu. */
  readonly entry?: PageEntry;
  /** The page exists only if the key may use this tool, or one of these tools. */
  readonly needs?: string | readonly string[];
  readonly show: (visit: Visit) => Reply | Promise<Reply>;
  readonly takesFile?: boolean;
  readonly submit?: (visit: Visit, form: Form) => Reply | Promise<Reply>;
};

/** Whether the page exists for the account's key. */
export function isAvailable({ needs }: Page, { mayUse }: Account): boolean {
  return needs === undefined || [needs].flat().some(mayUse);
}

type PageEntry = ParentPage & {
  /** SVG path data in a 16 × 16 square. */
  readonly icon: string;
  /** The heading in the menu; omitted for everyday pages. */
  readonly group?: "Project" | "Service";
};

export type ParentPage = { readonly name: string; readonly address: string };

export type Visit = {
  readonly account: Account;
  readonly url: URL;
  readonly params: Readonly<Record<string, string>>;
  /** Whether the browser runs on this machine, if known. */
  readonly isLocal: boolean;
  /** The CSRF token of each form. */
  readonly formToken: string;
  /** What the user typed before the session ended or before Cancel. The page shows it again. */
  readonly kept: Form | undefined;
  readonly isLeft?: boolean;
};

export type Form = {
  /** Returns the first value of that name, or an empty string. */
  readonly read: (name: string) => string;
  readonly readAll: (name: string) => readonly string[];
  readonly has: (name: string) => boolean;
  readonly entries: readonly (readonly [name: string, value: string])[];
  readonly upload: Upload | undefined;
};

type Upload = { readonly name: string; readonly bytes: Uint8Array };

export type Reply =
  | PageReply
  | {
      readonly kind: "file";
      readonly type: string;
      readonly name: string;
      readonly bytes: Uint8Array;
    }
  /** Untrusted markup for a frame of the console. */
  | { readonly kind: "frame"; readonly markup: string }
  | { readonly kind: "go"; readonly to: string };

export type PageReply = {
  readonly kind: "page";
  readonly title: string;
  /** The first heading, if it differs from the title; empty if the body contains the heading. */
  readonly heading?: string;
  readonly above?: ParentPage;
  readonly actions?: Part;
  /** Why a form had no effect, in one or more sentences. */
  readonly fault?: Part;
  readonly body: Part;
  /** If omitted, the status is 422 with a fault and 200 without. */
  readonly status?: number;
  readonly hasFrames?: boolean;
};

export function createForm(params: URLSearchParams, upload?: Upload): Form {
  return {
    read: (name) => params.get(name) ?? "",
    readAll: (name) => params.getAll(name),
    has: (name) => params.has(name),
    entries: [...params],
    upload,
  };
}
