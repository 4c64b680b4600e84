import { limits } from "../../contract/limits.ts";
import { isBlank } from "../../contract/text.ts";
import { quote } from "../../text/show-hidden.ts";
import { writeLabel } from "../../text/write-label.ts";

/** What rows and records hold, as a person reads it: on the page and in a text alike. */

/** How apps are named, by their UUID, bundle id or package name. */
export type Names = Readonly<Record<string, string>>;

/** A text in quotes, a list or an app by its members, and whatever else as it is written. */
export function writeValue(value: unknown, names: Names = {}): string {
  if (value === null || value === undefined) return "none";
  if (Array.isArray(value) && value.length === 0) return "none";
  if (typeof value === "string") {
    return Object.hasOwn(names, value)
      ? String(names[value])
      : quote(value, limits.web_address_characters);
  }
  if (Array.isArray(value)) {
    return value.map((item) => writeValue(item, names)).join(", ") || "none";
  }
  if (typeof value !== "object") return JSON.stringify(value);
  return Object.entries(value)
    .map(([name, member]) => {
      // An app is told of by its name alone, where that is known.
      const isNamed =
        identifying.has(name) && typeof member === "string" && Object.hasOwn(names, member);
      return `${isNamed ? "" : `${writeLabel(name)}: `}${writeValue(member, names)}`;
    })
    .join(", ");
}

/** What an app is chosen by. */
const identifying: ReadonlySet<string> = new Set(["id", "bundle_id", "package_name"]);

/** By its name and its identifier; by its UUID where neither is known. */
export function writeApp(id: string, known: readonly unknown[]): string {
  const texts = known.filter((text) => typeof text === "string" && !isBlank(text));
  const [first, second] = texts.map((text) => quote(String(text)));
  if (first === undefined) return `an app that this API key cannot read (${quote(id)})`;
  return second === undefined ? first : `${first} (${second})`;
}
