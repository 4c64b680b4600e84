/** Thrown if a copy cannot be made or read. The message is for the person who runs the command. */
export class CopyFault extends Error {
  override readonly name = "CopyFault";
}
