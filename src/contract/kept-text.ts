/**
 * The text of a Response that was made in this process, kept beside it. Whoever calls the service
 * within the process reads it without a stream, which costs more than the rest of a small call.
 */

const keptText = Symbol("text");

type Kept = Response & { readonly [keptText]?: string };

export function respondWithText(text: string, init: ResponseInit): Response {
  return Object.assign(new Response(text, init), { [keptText]: text });
}

/** Undefined for a Response from elsewhere. */
export function readKeptText(response: Response): string | undefined {
  // Nobody but `respondWithText` can set this member.
  return (response as Kept)[keptText];
}
