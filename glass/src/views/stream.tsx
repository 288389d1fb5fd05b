import { T } from "../state/strings";

export function Stream() {
  return <p class="lead">{T.comesLater}</p>;
}
