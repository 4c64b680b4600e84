import type { Problem } from "../../contract/problem.ts";
import { attributeAnswer, isSpecifiedMessage } from "../../contract/server-answer.ts";
import { quote } from "../../text/show-hidden.ts";

/** A refusal as a person reads it: the words of a remote server are quoted as that server's. */
export function quoteRefusal({ message, server }: Problem): string {
  if (server === undefined || isSpecifiedMessage(message)) return message;
  return attributeAnswer(server, quote(message, Infinity));
}
