import type { JsonObject } from "../../../contract/json.ts";
import { limits } from "../../../contract/limits.ts";
import { quote } from "../../../text/show-hidden.ts";
import type { Fact, Preview } from "../../approval/approval-request.ts";
import { describeAssociation } from "../../approval/describe-association.ts";
import type { NewApp } from "../apps.ts";

/** What a person reads of an app before the domain vouches for it, or for another one. */

export function previewRegistration({ kind, fields }: NewApp): Preview {
  const name = fields[kind.key ?? ""];
  return {
    title: `Register the ${kind.label} ${quote(typeof name === "string" ? name : "")}`,
    button: `Register ${kind.label}`,
    facts: [...describeFields(fields), ...describeAssociation(kind, undefined, fields)],
  };
}

function describeFields(fields: JsonObject): readonly Fact[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    const texts = (Array.isArray(value) ? value : [value]).filter((text) => text !== null);
    const text = texts.map((each) => quote(String(each), limits.web_address_characters)).join(", ");
    return text === "" ? [] : [{ name, text }];
  });
}
