import type { Account } from "./account.ts";
import type { Part } from "./html.ts";

/** One page of the console, as it is listed in `pages.ts`: what it needs and what it answers. */
export type Page = {
  /** Of the whole path; its named groups are the visit's `params`. */
  readonly path: RegExp;
  /** How it is found from every other page; omitted for pages that are reached in another way. */
  readonly entry?: PageEntry;
  /** The tool without which it does not exist; of several, one is enough. */
  readonly needs?: string | readonly string[];
  readonly show: (visit: Visit) => Reply | Promise<Reply>;
  readonly takesFile?: boolean;
  readonly submit?: (visit: Visit, form: Form) => Reply | Promise<Reply>;
};

/** A page that the key may not use does not exist. */
export function isThere({ needs }: Page, { mayUse }: Account): boolean {
  return needs === undefined || [needs].flat().some(mayUse);
}

type PageEntry = Above & {
  /** Strokes on a square of 16. */
  readonly icon: string;
  /** The heading above it; omitted for what people do every day. */
  readonly group?: "Project" | "Service";
};

export type Above = { readonly name: string; readonly address: string };

export type Visit = {
  readonly account: Account;
  readonly url: URL;
  readonly params: Readonly<Record<string, string>>;
  /** Whether the browser is on this machine, as far as is known. */
  readonly isHere: boolean;
  /** A field of each form. */
  readonly formToken: string;
  /** What was typed before the session ended, or before the person cancelled, to be shown again. */
  readonly kept: Form | undefined;
  readonly isLeft?: boolean;
};

export type Form = {
  /** The first of that name, or an empty text. */
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
  /** Markup of others, to be shown in a frame of a page of ours. */
  | { readonly kind: "frame"; readonly markup: string }
  | { readonly kind: "go"; readonly to: string };

export type PageReply = {
  readonly kind: "page";
  readonly title: string;
  /** Its first heading, where that is not the title; empty where the body has it. */
  readonly heading?: string;
  readonly above?: Above;
  readonly actions?: Part;
  /** Why something was not done, in one or more sentences. */
  readonly fault?: Part;
  readonly body: Part;
  /** Omitted, it is 422 with a fault and else 200. */
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
