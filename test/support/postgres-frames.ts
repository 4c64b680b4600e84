/** Messages of PostgreSQL's protocol (its manual, §54.7), as far as tests read them on the wire. */

export type Frame = { readonly type: string; readonly bytes: Buffer };

/** Cuts what arrives into whole messages. The first of a client has no letter before its length. */
export function readFrames(isFirstBare: boolean, take: (frame: Frame) => void) {
  let rest = Buffer.alloc(0);
  let isBare = isFirstBare;
  return (arrived: Buffer): void => {
    rest = Buffer.concat([rest, arrived]);
    for (;;) {
      const head = isBare ? 0 : 1;
      if (rest.length < head + 4) return;
      const size = head + rest.readInt32BE(head);
      if (rest.length < size) return;
      const type = isBare ? "" : String.fromCharCode(rest[0] ?? 0);
      const bytes = rest.subarray(0, size);
      rest = rest.subarray(size);
      // An encrypted connection is asked for, refused, and then all begins anew.
      if (isBare) isBare = bytes.readInt32BE(4) !== startup;
      take({ type, bytes });
    }
  };
}

/** What the first message of a connection is about. */
export const startup = 196_608;

export function writeFrame(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(type.length + 4);
  head.write(type);
  head.writeInt32BE(body.length + 4, type.length);
  return Buffer.concat([head, body]);
}

export function writeQuery(text: string): Buffer {
  return writeFrame("Q", Buffer.from(`${text}\0`));
}

export function writeError(code: string, message: string): Buffer {
  return writeFrame("E", Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`));
}

export function writeNumbers(type: string, ...numbers: readonly number[]): Buffer {
  const body = Buffer.alloc(numbers.length * 4);
  numbers.forEach((number, index) => body.writeInt32BE(number, index * 4));
  return writeFrame(type, body);
}

/** Texts that end with a zero each, from a place on. */
export function readTexts(bytes: Buffer, from: number): readonly string[] {
  return bytes.subarray(from).toString("utf8").split("\0");
}
