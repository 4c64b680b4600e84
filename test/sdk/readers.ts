/**
 * Reads a response as the public SDKs do, and throws where they would. The sources are
 * DeepLinkResult.swift and APIClient.swift (dynalinks/dynalinks-ios-sdk), and LinkData.kt and
 * APIClient.kt with Moshi (-android-sdk). The Flutter and React Native SDKs use these two.
 */

export type ReadMatch = {
  readonly matched: boolean;
  readonly confidence: string | null;
  readonly match_score: number | null;
  readonly link: Readonly<Record<string, string | number | boolean | null>> | null;
};

export type SdkAnswer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
};

type Kind = "string" | "boolean" | "integer";

type Sdk = {
  /** `Int` has 64 bits on iOS and 32 on Android. */
  readonly largest: number;
  /** Whether an address becomes a URL. Otherwise it is silently nil (`decodeURL`). */
  readonly isUrl: (text: string) => boolean;
};

export const sdks = {
  ios: { largest: Number.MAX_SAFE_INTEGER, isUrl: isFoundationUrl },
  android: { largest: 2 ** 31 - 1, isUrl: () => true },
} as const satisfies Record<string, Sdk>;

/** `URL(string:)` before iOS 17, with the valid characters of CFURL.c. */
function isFoundationUrl(text: string): boolean {
  const [, rest = "", fragment = ""] =
    /^[a-zA-Z][\w+.-]*:\/\/(?:\[[\da-fA-F:.]+\])?([^#]*)(?:#(.*))?$/s.exec(text) ?? [];
  return rest !== "" && /^(?:[!$&-;=?-Z_a-z~]|%[\da-fA-F]{2})*$/.test(rest + fragment);
}

const addresses: ReadonlySet<string> = new Set([
  "url",
  "full_url",
  "android_fallback_url",
  "ios_fallback_url",
  "social_image_url",
]);

const members: Readonly<Record<string, Kind>> = {
  name: "string",
  path: "string",
  shortened_path: "string",
  url: "string",
  full_url: "string",
  deep_link_value: "string",
  ios_deferred_deep_linking_enabled: "boolean",
  android_fallback_url: "string",
  ios_fallback_url: "string",
  enable_forced_redirect: "boolean",
  social_title: "string",
  social_description: "string",
  social_image_url: "string",
  clicks: "integer",
  referrer: "string",
  provider_token: "string",
  campaign_token: "string",
};

export function readAnswer(sdk: keyof typeof sdks, { status, text }: SdkAnswer): ReadMatch {
  if (status < 200 || status > 299) throw new Error(`ServerError ${status}: ${text}`);
  const body: unknown = JSON.parse(text);
  const { largest } = sdks[sdk];
  const confidence = readMember(body, "confidence", "string", largest);
  if (confidence !== null && !["high", "medium", "low"].includes(String(confidence))) {
    throw new Error(`no confidence: ${String(confidence)}`);
  }
  const link = readLink(pick(body, "link"), sdks[sdk]);
  const score = readMember(body, "match_score", "integer", largest);
  return {
    matched: require(readMember(body, "matched", "boolean", largest)) === true,
    confidence: confidence === null ? null : String(confidence),
    match_score: score === null ? null : Number(score),
    link,
  };
}

/** `serverError(statusCode:message:)` reads the message from `error` or `message`. */
export function readRefusal({ status, text }: SdkAnswer): readonly [number, string] {
  const body: unknown = JSON.parse(text);
  const message = pick(body, "error") ?? pick(body, "message");
  if (typeof message !== "string") throw new Error(`no message: ${text}`);
  return [status, message];
}

function readLink(value: unknown, { largest, isUrl }: Sdk): ReadMatch["link"] {
  if (value === undefined || value === null) return null;
  const id = require(readMember(value, "id", "string", largest));
  const read = Object.entries(members).map(([name, kind]) => {
    const member = readMember(value, name, kind, largest);
    const isNil = typeof member === "string" && addresses.has(name) && !isUrl(member);
    return [name, isNil ? null : member] as const;
  });
  return { id, ...Object.fromEntries(read) };
}

function readMember(
  of: unknown,
  name: string,
  kind: Kind,
  largest: number,
): string | number | boolean | null {
  const value = pick(of, name);
  if (value === undefined || value === null) return null;
  const isInteger = typeof value === "number" && Number.isInteger(value) && value <= largest;
  const isRight = kind === "integer" ? isInteger : typeof value === kind;
  if (!isRight) throw new Error(`${name} is no ${kind}: ${JSON.stringify(value)}`);
  // The checks above allow only these types.
  return value as string | number | boolean;
}

function require<Value>(value: Value | null): Value {
  if (value === null) throw new Error("a required member is missing");
  return value;
}

function pick(of: unknown, name: string): unknown {
  if (typeof of !== "object" || of === null || Array.isArray(of)) throw new Error("no object");
  return (of as Readonly<Record<string, unknown>>)[name];
}
