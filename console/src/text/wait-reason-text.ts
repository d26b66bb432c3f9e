import { defineText } from "./define-text.ts";

/** Completes "tasks wait for". */
export const waitReasonText = defineText({
  en: {
    "workflow-limit": "a place among the instances of their workflow",
    "instance-limit": "a place within their instance",
    outside: "completion from outside",
    paused: "their instance to be resumed",
    retry: "their next attempt",
    "no-worker": "a worker that has their job",
    domain: "a slot of their domain",
    slot: "a free slot",
    isolation: "to run alone after a loss",
    engine: "this server to start tasks again",
  },
  zh: {
    "workflow-limit": "其工作流的实例名额",
    "instance-limit": "其实例内的并发名额",
    outside: "外部完成",
    paused: "实例恢复",
    retry: "下一次尝试",
    "no-worker": "拥有其作业的工作节点",
    domain: "业务域的槽位",
    slot: "空闲的槽位",
    isolation: "丢失后单独运行",
    engine: "服务器重新开始派发",
  },
});
